"""HOST092: the disk's settings are gone after a reboot

What it checks: a rule of udev does not set another scheduler for the disks under data and log at the next boot than
the good one that they have now.

Why it matters: a setting made by hand holds until the next reboot.

Remedy: write the present scheduler into a later rule of udev.

Risk: none: nothing changes now.

References: the rule of udev (2016); `elevator=` on the kernel's command line does nothing since Linux 5.0, so it does
not count. udev(7).
"""

from dbdyno.hosts.rules._devices import leaves
from dbdyno.hosts.rules._fixes import block
from dbdyno.hosts.rules._sources import cite
from dbdyno.hosts.rules.host030 import suiting
from dbdyno.hosts.tree import ABSENT
from dbdyno.model.fact import Scalar
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    lost = {}
    for device in leaves(facts):
        now, later = facts.text(f"host.block.{device}.scheduler"), facts.text(f"host.boot.block.{device}.scheduler")
        suits = suiting(facts, device)
        if now in suits and later != ABSENT and later not in suits:
            lost[device] = (now, later)
    if not lost:
        return None
    what = ", ".join(f"{device} has {now} and gets {later}" for device, (now, later) in lost.items())
    return Finding(
        says=f"At the next boot the scheduler changes: {what}.",
        severity=Severity.WARNING,
        fixes=tuple(
            block(facts, device, "scheduler", now, before=now, fact=f"host.boot.block.{device}.scheduler")
            for device, (now, _) in lost.items()
        ),
        verify="udevadm test shows the scheduler that is set",
    )


_DISK: dict[str, Scalar] = {"host.data.leaves": "sda", "host.log.leaves": "sda", "host.block.sda.rotational": True,
         "host.block.sda.virtual": False, "host.virtual": False,
         "host.block.sda.scheduler": "mq-deadline"}  # fmt: skip
RULE = Rule(
    id="HOST092",
    title="The disk's scheduler survives a reboot",
    topic="disk",
    check=check,
    source=cite("linux-2016", "udev(7), Linux manual page (2024)"),
    good={**_DISK, "host.boot.block.sda.scheduler": "absent"},
    bad={**_DISK, "host.boot.block.sda.scheduler": "bfq"},
)
