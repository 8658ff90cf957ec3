"""HOST039: the disk is nearly full

What it checks: at least 10 percent of the file systems under data and log are free.

Why it matters: a server whose disk is full stops, some in the middle of a checkpoint; repairing needs room as well.
File systems also write slower when they are nearly full.

Remedy: make room or grow the volume; find first what grows (logs kept for a replica that is gone, old backups).

Risk: deleting the server's own log files by hand destroys it.

References: manuals of the file systems; the space that a repair needs: article of 2022 on reclaiming space.
"""

from dbdyno.hosts.rules._devices import points, roles
from dbdyno.hosts.rules._fixes import manual
from dbdyno.hosts.rules._sources import cite
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule

_LEAST, _DANGER = 0.10, 0.03


def check(facts: Facts) -> Finding | None:
    free = {role: facts.number(f"host.{role}.free_ratio") for role in roles(facts)}
    wrong = [role for role, share in free.items() if share < _LEAST]
    if not wrong:
        return None
    return Finding(
        says=f"Only {min(free.values()):.1%} of {points(facts, wrong)} are free.",
        severity=Severity.CRITICAL if min(free.values()) < _DANGER else Severity.WARNING,
        fixes=(manual("make room or grow the volume"),),
        verify="df shows more than 10 percent free",
    )


_MOUNT = {"host.data.mount_point": "/srv", "host.log.mount_point": "/srv"}
RULE = Rule(
    id="HOST039",
    title="There is room on the disk",
    topic="disk",
    check=check,
    source=cite("xfs(5) and ext4(5), Linux manual pages (2024)"),
    good={**_MOUNT, "host.data.free_ratio": 0.4},
    bad={**_MOUNT, "host.data.free_ratio": 0.02},
)
