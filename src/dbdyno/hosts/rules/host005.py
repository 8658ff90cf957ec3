"""HOST005: transparent huge pages are given to everything

What it checks: /sys/kernel/mm/transparent_hugepage/enabled is `madvise` or `never`, not `always`; `never` (or
`madvise`) also where the server forks to save a snapshot of its memory.

Why it matters: with `always` the kernel gives 2 MiB pages to programs that touch a few kilobytes here and there, as
servers do: memory grows, and merging and splitting pages stalls them. After a fork one changed byte copies 2 MiB.

Remedy: `madvise` leaves huge pages to those programs that ask for them (runtimes that want them still get them).
Write it now and at each boot (tmpfiles.d), and put `transparent_hugepage=madvise` on the kernel's command line so that
it holds from the start: a fragment where the boot loader reads such (Debian, Ubuntu), elsewhere
`grubby --update-kernel=ALL --args=transparent_hugepage=madvise`.

Risk: a program that profits without asking loses some speed. The server keeps what it has until its restart.

References: articles of 2016 and 2023 say `never` by the kernel's command line, the first that Debian is not
concerned: that is no longer true, so the file is read on every machine. `madvise` is the kernel's own middle way and
enough, since database servers do not ask for huge pages in this way (those that use explicit ones are not concerned).
Kernel, admin-guide/mm/transhuge.rst.
"""

from dbdyno.hosts.rules._fixes import kernel_argument, sysfs
from dbdyno.hosts.rules._sources import cite
from dbdyno.hosts.tree import ABSENT
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule

_PATH = "/sys/kernel/mm/transparent_hugepage/enabled"


def check(facts: Facts) -> Finding | None:
    if facts.text("host.thp.enabled") != "always" or _wanted(facts):
        return None
    forks = facts.has("server.forks_for_snapshot") and facts.flag("server.forks_for_snapshot")
    return Finding(
        says="Transparent huge pages are on for every program"
        + (", and this server forks to save its memory." if forks else "."),
        severity=Severity.WARNING,
        fixes=(
            sysfs(_PATH, "madvise", before="always", fact="host.thp.enabled"),
            kernel_argument("transparent_hugepage", "madvise"),
        ),
        verify=f"cat {_PATH} shows [madvise]; after a reboot as well",
    )


def _wanted(facts: Facts) -> bool:
    """Whether the server's own allocator is made for them; then its rules say the opposite."""
    name = "server.transparent_huge_pages_wanted"
    return facts.has(name) and facts.flag(name)


RULE = Rule(
    id="HOST005",
    title="Huge pages go only to programs that ask for them",
    topic="memory",
    check=check,
    applies=lambda facts: facts.value("host.thp.enabled") != ABSENT,
    source=cite("linux-2016", "basics-2023", "kernel, admin-guide/mm/transhuge.rst (2024)"),
    good={"host.thp.enabled": "madvise"},
    bad={"host.thp.enabled": "always"},
)
