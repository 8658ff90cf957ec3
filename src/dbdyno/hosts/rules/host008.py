"""HOST008: huge pages are reserved and not used

What it checks: of the explicit huge pages (vm.nr_hugepages) no more than a gigabyte lies idle: neither used nor
reserved.

Why it matters: that memory is set apart from the start; nothing else, not even the file cache, can use it.

Remedy: give them to the server (its setting for huge pages), or lower vm.nr_hugepages to what is used plus a little.

Risk: a server that starts later and wants them finds fewer. The decision depends on what runs here: a person's.

References: kernel, admin-guide/mm/hugetlbpage.rst; a database manual's section on huge pages (2024).
"""

from dbdyno.hosts.rules._fixes import manual
from dbdyno.hosts.rules._sizes import GIB, MIB, size
from dbdyno.hosts.rules._sources import cite
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    page_bytes = facts.number("host.mem.huge_page_bytes")
    free, reserved = facts.number("host.mem.huge_free"), facts.number("host.mem.huge_reserved")
    idle_bytes = (free - reserved) * page_bytes
    if idle_bytes <= GIB:
        return None
    used = facts.number("host.mem.huge_total") - free + reserved
    return Finding(
        says=f"{size(idle_bytes)} of memory are reserved as huge pages that nobody uses.",
        severity=Severity.WARNING,
        fixes=(manual("vm.nr_hugepages", f"{used:.0f}", undo="set vm.nr_hugepages back"),),
    )


RULE = Rule(
    id="HOST008",
    title="Reserved huge pages are used",
    topic="memory",
    check=check,
    applies=lambda facts: facts.number("host.mem.huge_total") > 0,
    source=cite("huge-pages", "kernel, admin-guide/mm/hugetlbpage.rst (2024)"),
    good={"host.mem.huge_total": 2048, "host.mem.huge_free": 64, "host.mem.huge_reserved": 0,
          "host.mem.huge_page_bytes": 2 * MIB},
    bad={"host.mem.huge_total": 2048, "host.mem.huge_free": 2048, "host.mem.huge_reserved": 0,
         "host.mem.huge_page_bytes": 2 * MIB},
)  # fmt: skip
