"""HOST037: the file system has recorded errors

What it checks: the kernel counted no error in the file systems under data and log since they were last repaired
(ext4).

Why it matters: metadata was found broken. It goes on working, until it does not.

Remedy: back up what can be read, look at the disk's own log (smartctl) and the kernel's, then unmount and run e2fsck.

Risk: a repair may remove broken files: take the backup first.

References: kernel, ABI/testing/sysfs-fs-ext4 (2024).
"""

from dbdyno.hosts.rules._devices import points, roles
from dbdyno.hosts.rules._fixes import manual
from dbdyno.hosts.rules._sources import cite
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    counts = {role: facts.number(f"host.{role}.fs_errors") for role in roles(facts)}
    wrong = [role for role, count in counts.items() if count > 0]
    if not wrong:
        return None
    return Finding(
        says=f"{sum(counts.values()):.0f} errors are recorded in the file system of {points(facts, wrong)}.",
        severity=Severity.CRITICAL,
        fixes=(manual("back up, find the cause, repair with e2fsck"),),
        verify="errors_count below /sys/fs/ext4 is 0",
    )


_MOUNT = {"host.data.mount_point": "/srv", "host.log.mount_point": "/srv"}
RULE = Rule(
    id="HOST037",
    title="The file system is sound as far as the kernel knows",
    topic="disk",
    check=check,
    source=cite("kernel, ABI/testing/sysfs-fs-ext4 (2024)"),
    good={**_MOUNT, "host.data.fs_errors": 0},
    bad={**_MOUNT, "host.data.fs_errors": 12},
)
