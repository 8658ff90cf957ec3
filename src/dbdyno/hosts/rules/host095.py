"""HOST095: the storage is mounted worse after a reboot

What it checks: where /etc/fstab lists the storage of data and log, it does not take back what is good now: no
`nobarrier`, no `strictatime`, no `discard` (but on btrfs), unless they are in force already.

Why it matters: a remount by hand holds until the next reboot. Barriers that are off after it lose data at the next
loss of power.

Remedy: the present word in the line of /etc/fstab.

Risk: none: nothing changes now.

References: reboot once and verify everything (2016); fstab(5) and mount(8).
"""

from dbdyno.hosts.audit.disks import MOUNT_WORDS
from dbdyno.hosts.rules._devices import ROLES, roles
from dbdyno.hosts.rules._fixes import mount
from dbdyno.hosts.rules._sources import cite
from dbdyno.hosts.tree import ABSENT
from dbdyno.model.fact import Scalar
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.knob import Level
from dbdyno.model.rule import Rule

_BAD = {"barrier": "nobarrier", "atime": "strictatime", "discard": "discard"}


def _later(line: str, group: str) -> str:
    """The word that a line of fstab gives; the kernel's default for access times is relatime."""
    words = line.split()
    options = words[3].split(",") if len(words) > 3 else []
    if group == "atime":
        return "strictatime" if "strictatime" in options else "relatime"
    return MOUNT_WORDS[group](options, words[2] if len(words) > 2 else "")


def check(facts: Facts) -> Finding | None:
    lost: list[tuple[str, str]] = []
    for role in roles(facts):
        line, kind = facts.text(f"host.{role}.fstab"), facts.text(f"host.{role}.filesystem")
        now = {group: facts.text(f"host.{role}.{group}") for group in _BAD}
        if line != ABSENT:
            lost += [
                (role, group)
                for group, bad in _BAD.items()
                if now[group] != bad and _later(line, group) == bad and (group, kind) != ("discard", "btrfs")
            ]
    if not lost:
        return None
    what = ", ".join(f"{facts.text(f'host.{role}.mount_point')} with {_BAD[group]}" for role, group in lost)
    barrier = any(group == "barrier" for _, group in lost)
    return Finding(
        says=f"The next boot mounts {what}.",
        severity=Severity.CRITICAL if barrier else Severity.ADVICE,
        durability=Level.L3 if barrier else None,
        fixes=tuple(mount(facts, role, group, facts.text(f"host.{role}.{group}")) for role, group in lost),
        verify="the line in /etc/fstab has the present words",
    )


_MOUNT: dict[str, Scalar] = {f"host.{role}.mount_point": "/srv" for role in ROLES}
_NOW: dict[str, Scalar] = {**_MOUNT, "host.data.filesystem": "ext4", "host.data.barrier": "barrier",
                           "host.data.atime": "noatime", "host.data.discard": "nodiscard"}  # fmt: skip
RULE = Rule(
    id="HOST095",
    title="The next boot mounts the storage as it is now",
    topic="disk",
    check=check,
    source=cite("linux-2016", "fstab(5), Linux manual page (2024)"),
    good={**_NOW, "host.data.fstab": "/dev/sdb /srv ext4 noatime 0 2"},
    bad={**_NOW, "host.data.fstab": "/dev/sdb /srv ext4 noatime,nobarrier 0 2"},
)
