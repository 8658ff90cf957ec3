"""HOST041: a control group limits the disk

What it checks: no control group limits the operations of the disk under the server's data below 1000 a second.

Why it matters: a limit looks like a slow disk from inside, and no counter of the disk explains it.

Remedy: raise the limit (io.max, blkio.throttle, the container's or the unit's setting), or size the server for it.

Risk: other groups get less.

References: kernel, admin-guide/cgroup-v2.rst (2024).
"""

from dbdyno.hosts.rules._fixes import manual
from dbdyno.hosts.rules._sources import cite
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule

_LEAST = 1000


def check(facts: Facts) -> Finding | None:
    limits = {kind: facts.value(f"host.cgroup_{kind}_iops") for kind in ("read", "write")}
    low = {kind: value for kind, value in limits.items() if value != "no limit" and float(str(value)) < _LEAST}
    if not low:
        return None
    what = " and ".join(f"{value:g} {kind}s" for kind, value in low.items())
    return Finding(
        says=f"The control group allows {what} a second.",
        severity=Severity.ADVICE,
        fixes=(manual("raise the limit or size the server for it"),),
        verify="io.max or blkio.throttle.* of the group and its ancestors",
    )


RULE = Rule(
    id="HOST041",
    title="No control group limits the disk",
    topic="disk",
    check=check,
    source=cite("kernel, admin-guide/cgroup-v2.rst (2024)"),
    good={"host.cgroup_read_iops": "no limit", "host.cgroup_write_iops": "no limit"},
    bad={"host.cgroup_read_iops": 300, "host.cgroup_write_iops": "no limit"},
)
