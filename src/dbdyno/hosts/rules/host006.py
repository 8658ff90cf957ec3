"""HOST006: programs wait while the kernel makes huge pages

What it checks: /sys/kernel/mm/transparent_hugepage/defrag is not `always`.

Why it matters: with `always` a page fault of any program that may have huge pages waits while the kernel moves memory
around to make one: stalls of milliseconds in the middle of a query.

Remedy: `madvise`, the kernel's own default since 4.6: only programs that asked for huge pages wait for them.

Risk: none known.

References: kernel, admin-guide/mm/transhuge.rst; stalls: article of 2016.
"""

from dbdyno.hosts.rules._fixes import sysfs
from dbdyno.hosts.rules._sources import cite
from dbdyno.hosts.tree import ABSENT
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule

_PATH = "/sys/kernel/mm/transparent_hugepage/defrag"


def check(facts: Facts) -> Finding | None:
    offered = facts.text("host.thp.defrags").split()
    if facts.text("host.thp.defrag") != "always":
        return None
    better = "madvise" if "madvise" in offered else "never"
    return Finding(
        says="Every program's page fault may wait while the kernel defragments memory for a huge page.",
        severity=Severity.ADVICE,
        fixes=(sysfs(_PATH, better, before="always", fact="host.thp.defrag"),),
        verify=f"cat {_PATH} shows [{better}]",
    )


RULE = Rule(
    id="HOST006",
    title="Nobody waits for huge pages who did not ask for them",
    topic="memory",
    check=check,
    applies=lambda facts: facts.value("host.thp.defrag") != ABSENT,
    source=cite("linux-2016", "kernel, admin-guide/mm/transhuge.rst (2024)"),
    good={"host.thp.defrag": "madvise", "host.thp.defrags": "always defer defer+madvise madvise never"},
    bad={"host.thp.defrag": "always", "host.thp.defrags": "always defer defer+madvise madvise never"},
)
