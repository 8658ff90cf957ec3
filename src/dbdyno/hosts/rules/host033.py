"""HOST033: write barriers are off while the disk's cache forgets

What it checks: the file systems under data and log are not mounted with `nobarrier` or `barrier=0`, unless every disk
below says that it writes through.

Why it matters: without barriers a flush that the server waits for ends in the disk's volatile cache. After a loss of
power acknowledged transactions are gone and files are torn, whatever the server's own settings promise.

Remedy: remount with barriers, and take the word out of /etc/fstab.

Risk: commits wait for the disk, as they should. A controller with a battery makes its flushes cheap by itself.

References: ext4(5) and xfs(5) manuals; xfs has not known `nobarrier` since Linux 4.19 (2018). Tuning guides that
advise it "with a battery" save nothing today, since such controllers ignore flushes, and it is fatal when the battery
fails.
"""

from dbdyno.hosts.rules._devices import leaves, roles
from dbdyno.hosts.rules._fixes import mount
from dbdyno.hosts.rules._sources import cite
from dbdyno.hosts.tree import ABSENT
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.knob import Level
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    barriers = {role: facts.text(f"host.{role}.barrier") for role in roles(facts)}
    caches = {device: facts.text(f"host.block.{device}.write_cache") for device in leaves(facts)}
    off = [role for role, word in barriers.items() if word == "nobarrier"]
    if not off or all(cache == "write through" for cache in caches.values()):
        return None
    points = " and ".join(facts.text(f"host.{role}.mount_point") for role in off)
    disks = ", ".join(f"{device}: {'not known' if cache == ABSENT else cache}" for device, cache in caches.items())
    return Finding(
        says=f"{points} is mounted without write barriers over a cache that forgets ({disks}).",
        severity=Severity.CRITICAL,
        durability=Level.L3,
        fixes=tuple(mount(facts, role, "barrier", "barrier") for role in off),
        verify="the mount's line in /proc/self/mountinfo has no nobarrier",
    )


_DISK = {"host.data.mount_point": "/", "host.log.mount_point": "/", "host.data.leaves": "sda", "host.log.leaves": "sda",
         "host.block.sda.write_cache": "write back"}  # fmt: skip
RULE = Rule(
    id="HOST033",
    title="A flush reaches the disk",
    topic="durability",
    check=check,
    source=cite("ext4(5) and xfs(5), Linux manual pages (2024)"),
    good={**_DISK, "host.data.barrier": "barrier"},
    bad={**_DISK, "host.data.barrier": "nobarrier"},
)
