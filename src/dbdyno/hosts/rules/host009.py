"""HOST009: the server wants huge pages and there are none

What it checks: where the server is set to use explicit huge pages, enough are there for its cache, or are in use
already.

Why it matters: a server that only tries falls back to pages of 4 KiB without a word, and spends memory and time on
its page tables in every connection; one that insists does not start after the next boot.

Remedy: reserve them: the server's shared memory divided by the page size, and a few more. Do it at boot, or soon
after: later the memory is too fragmented.

Risk: what is reserved is lost to everything else: take no more than the server's cache.

References: a database manual's section on huge pages (2024); kernel, admin-guide/mm/hugetlbpage.rst.
"""

import math

from dbdyno.hosts.rules._sizes import GIB, MIB, size
from dbdyno.hosts.rules._sources import cite
from dbdyno.hosts.rules._sysctl import Wanted
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule

_MARGIN = 1.1
_SHARE_MOST = 0.75


def _pages(facts: Facts) -> int:
    return math.ceil(facts.number("server.cache_bytes") * _MARGIN / facts.number("host.mem.huge_page_bytes"))


def _needed(facts: Facts) -> bool:
    return facts.has("server.huge_pages_wanted") and facts.flag("server.huge_pages_wanted")


WANTED = (
    Wanted("vm.nr_hugepages", lambda facts, value: not _needed(facts) or float(str(value)) >= _pages(facts), _pages),
)


def check(facts: Facts) -> Finding | None:
    there, pages = facts.number("host.sysctl.vm.nr_hugepages"), _pages(facts)
    wanted_bytes, memory_bytes = pages * facts.number("host.mem.huge_page_bytes"), facts.number("host.mem.usable_bytes")
    if there >= pages:
        return None
    says = (
        f"The server wants huge pages for a cache of {size(facts.number('server.cache_bytes'))}: {there:g} are there."
    )
    if wanted_bytes > _SHARE_MOST * memory_bytes:
        remedy = "Make the server's cache smaller first: the pages for it would take nearly all memory."
        return Finding(says=says, severity=Severity.ADVICE, remedy=remedy)
    return Finding(says=says, severity=Severity.ADVICE, fixes=(WANTED[0].fix(facts),))


RULE = Rule(
    id="HOST009",
    title="There are huge pages for the server that wants them",
    topic="memory",
    check=check,
    applies=lambda facts: facts.flag("server.huge_pages_wanted"),
    source=cite("huge-pages", "kernel, admin-guide/mm/hugetlbpage.rst (2024)"),
    good={"host.sysctl.vm.nr_hugepages": 1200, "server.cache_bytes": 2 * GIB, "server.huge_pages_wanted": True,
          "host.mem.huge_page_bytes": 2 * MIB, "host.mem.usable_bytes": 8 * GIB},
    bad={"host.sysctl.vm.nr_hugepages": 0, "server.cache_bytes": 2 * GIB, "server.huge_pages_wanted": True,
         "host.mem.huge_page_bytes": 2 * MIB, "host.mem.usable_bytes": 8 * GIB},
)  # fmt: skip
