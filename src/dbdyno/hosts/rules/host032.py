"""HOST032: the data lies where no database should

What it checks: the file system under data and log is ext4, xfs, zfs or btrfs, and one that the server itself prefers
where it says so; ext3, overlay layers, memory, FAT, and shared folders of a hypervisor are findings, network file
systems a warning.

Why it matters: ext3 serialises writes to a file; an overlay copies whole files at the first change and may not keep
what was synced; memory forgets; shared folders of hypervisors lie about flushes.

Remedy: a volume of its own with xfs or ext4; move the data there while the server is stopped.

Risk: the server stands still while it is moved.

References: xfs only for one engine, and ext4 with stability trouble then (2016); ext4 first (2013); measure (2023);
ZFS as good as ext4 from 0.8 on, much slower before (2021). Resolved: by engine (what the server says it prefers) and
date; among the good ones only a measurement decides, so they pass.
"""

from dbdyno.hosts.rules._devices import roles
from dbdyno.hosts.rules._fixes import manual
from dbdyno.hosts.rules._sources import cite
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Needs, Severity
from dbdyno.model.knob import Level
from dbdyno.model.rule import Rule

_GOOD = ("ext4", "xfs", "zfs", "btrfs")
_FORGETS = ("tmpfs", "ramfs", "overlay", "aufs", "vboxsf", "vmhgfs", "9p", "fuse.vmhgfs-fuse", "vfat", "exfat", "msdos")


def check(facts: Facts) -> Finding | None:
    kinds = {role: facts.text(f"host.{role}.filesystem") for role in roles(facts)}
    preferred = (
        facts.text("server.prefers_filesystem").split() if facts.has("server.prefers_filesystem") else list(_GOOD)
    )
    wrong = {role: kind for role, kind in kinds.items() if kind not in preferred}
    if not wrong:
        return None
    what = ", ".join(f"{facts.text(f'host.{role}.mount_point')} is {kind}" for role, kind in wrong.items())
    forgets = set(wrong.values()) & set(_FORGETS)
    good = set(wrong.values()) <= set(_GOOD)
    return Finding(
        says=f"{what}: this server wants {' or '.join(preferred)}.",
        severity=Severity.CRITICAL if forgets else Severity.ADVICE if good else Severity.WARNING,
        durability=Level.L3,
        fixes=(manual(f"move it to a volume with {preferred[0]}", needs=Needs.REBUILD),),
        verify="df -T shows the file system",
    )


_MOUNT = {"host.data.mount_point": "/srv", "host.log.mount_point": "/srv"}
RULE = Rule(
    id="HOST032",
    title="The file system is one for databases",
    topic="disk",
    check=check,
    source=cite("linux-2016", "linux-2013", "basics-2023", "zfs-2021"),
    good={**_MOUNT, "host.data.filesystem": "xfs"},
    bad={**_MOUNT, "host.data.filesystem": "overlay"},
)
