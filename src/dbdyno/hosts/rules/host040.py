"""HOST040: an array of disks lacks a member

What it checks: no software array is degraded (/proc/mdstat).

Why it matters: the next disk that fails takes the data with it; until then reads are slow.

Remedy: replace the disk and add it to the array.

Risk: rebuilding loads the other disks: limit its speed in busy hours.

References: md(4), Linux manual page (2024).
"""

from dbdyno.hosts.rules._fixes import manual
from dbdyno.hosts.rules._sources import cite
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    state = facts.text("host.raid")
    if state in ("none", "clean"):
        return None
    if state == "resync":
        says = "A software array is being rebuilt or checked: the disks are slower than usual."
        return Finding(says=says, severity=Severity.ADVICE, fixes=(manual("wait for its end (/proc/mdstat)"),))
    return Finding(
        says="A software array lacks a disk.",
        severity=Severity.CRITICAL,
        fixes=(manual("replace the disk and add it to the array"),),
        verify="cat /proc/mdstat shows no _ among the members",
    )


RULE = Rule(
    id="HOST040",
    title="Arrays of disks are whole",
    topic="disk",
    check=check,
    source=cite("md(4), Linux manual page (2024)"),
    good={"host.raid": "clean"},
    bad={"host.raid": "degraded"},
)
