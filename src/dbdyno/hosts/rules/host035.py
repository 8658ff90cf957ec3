"""HOST035: freed blocks are told to the disk one by one

What it checks: data and log are not mounted with `discard`, except on btrfs, which gathers them.

Why it matters: with it each deletion of a file (old log, dropped table, sorted run) sends commands that many disks do
slowly and that hold up the reads and writes behind them.

Remedy: remount with nodiscard and let the weekly fstrim.timer tell the disk.

Risk: thin volumes and cloud disks get freed space back once a week instead of at once.

References: ext4(5), xfs(5) and fstrim(8) manuals, which advise the timer over the mount option.
"""

from dbdyno.hosts.rules._devices import points, roles
from dbdyno.hosts.rules._fixes import mount, service
from dbdyno.hosts.rules._sources import cite
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    found = {role: (facts.text(f"host.{role}.discard"), facts.text(f"host.{role}.filesystem")) for role in roles(facts)}
    wrong = [role for role, (word, kind) in found.items() if word == "discard" and kind != "btrfs"]
    if not wrong:
        return None
    return Finding(
        says=f"Freed blocks are told to the disk at once on {points(facts, wrong)}.",
        severity=Severity.ADVICE,
        fixes=(*(mount(facts, role, "discard", "nodiscard") for role in wrong), service("fstrim.timer")),
        verify="the mount's line in /proc/self/mountinfo has no discard; systemctl list-timers shows fstrim",
    )


_MOUNT = {"host.data.mount_point": "/", "host.log.mount_point": "/", "host.data.filesystem": "ext4"}
RULE = Rule(
    id="HOST035",
    title="Freed blocks are told to the disk in one go",
    topic="disk",
    check=check,
    source=cite("ext4(5), xfs(5) and fstrim(8), Linux manual pages (2024)"),
    good={**_MOUNT, "host.data.discard": "nodiscard"},
    bad={**_MOUNT, "host.data.discard": "discard"},
)
