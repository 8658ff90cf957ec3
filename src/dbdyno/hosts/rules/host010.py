"""HOST010: there is no swap space at all

What it checks: the machine has swap space on a disk or in compressed memory, or the server is held below a limit of
its control group.

Why it matters: without any, the first moment in which memory is short ends with a kill, most likely of the server,
and pages that nobody ever uses cannot be put aside. With little swap and vm.swappiness 1 there is a warning first.

Remedy: a swap file of 1 to 4 GiB, on another disk than the data if there is one.

Risk: a machine that is far too small becomes slow before something is killed.

References: the article of 2023 keeps swap as a safety net with swappiness 1. Guides that switch it off do so for
clusters where a slow node is worse than a dead one: then accept this finding in the baseline.
"""

from dbdyno.hosts.rules._fixes import manual
from dbdyno.hosts.rules._sources import cite
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    limited = facts.value("host.group.limit_bytes") != "no limit"
    if facts.number("host.swap_devices") > 0 or limited:
        return None
    return Finding(
        says="There is no swap space: when memory is short, something is killed at once.",
        severity=Severity.ADVICE,
        fixes=(manual("make a swap file", "2 GiB", undo="swapoff and remove the file"),),
        verify="swapon --show lists it",
    )


RULE = Rule(
    id="HOST010",
    title="Short memory gives a warning before it kills",
    topic="memory",
    check=check,
    source=cite("basics-2023", "linux-2016"),
    good={"host.swap_devices": 1, "host.group.limit_bytes": "no limit"},
    bad={"host.swap_devices": 0, "host.group.limit_bytes": "no limit"},
)
