"""HOST036: the file system's journal does not protect files that grow

What it checks: ext3 and ext4 under data and log are mounted with data=ordered (or data=journal), not data=writeback.

Why it matters: with writeback a file that grew just before a loss of power may hold blocks of deleted files: a torn
page, and other people's data, where the server expects zeros or its own.

Remedy: put data=ordered into /etc/fstab and mount anew; a remount cannot change it.

Risk: on old disks a sync of one file waits for other files' new blocks.

References: ext4(5), Linux manual page (2024). Old tuning guides advise writeback for speed; servers preallocate and
sync their files, so that nothing is gained.
"""

from dbdyno.hosts.rules._devices import points, roles
from dbdyno.hosts.rules._fixes import manual
from dbdyno.hosts.rules._sources import cite
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Needs, Severity
from dbdyno.model.knob import Level
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    modes = {role: facts.text(f"host.{role}.journal") for role in roles(facts)}
    wrong = [role for role, mode in modes.items() if mode == "data=writeback"]
    if not wrong:
        return None
    return Finding(
        says=f"{points(facts, wrong)} has data=writeback: a loss of power may leave foreign blocks in files.",
        severity=Severity.WARNING,
        durability=Level.L3,
        fixes=(manual("data=ordered in /etc/fstab, then mount anew", needs=Needs.REMOUNT),),
        verify="the mount's line in /proc/self/mountinfo has no data=writeback",
    )


_MOUNT = {"host.data.mount_point": "/srv", "host.log.mount_point": "/srv"}
RULE = Rule(
    id="HOST036",
    title="The journal orders new blocks before their names",
    topic="durability",
    check=check,
    source=cite("ext4(5), Linux manual page (2024)"),
    good={**_MOUNT, "host.data.journal": "data=ordered"},
    bad={**_MOUNT, "host.data.journal": "data=writeback"},
)
