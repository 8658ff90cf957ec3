"""HOST030: the I/O scheduler does not suit the disk

What it checks: the scheduler of each disk under data and log: `none` or `mq-deadline` on solid-state and virtual
disks, `mq-deadline` on spinning ones; neither `cfq` nor `bfq` anywhere.

Why it matters: `cfq` and `bfq` share a disk fairly between programs by letting it idle in between; a server is one
program that wants all of it. With `none` a spinning disk gets its requests unsorted.

Remedy: write the name to the queue now, and let a udev rule do it for each boot.

Risk: where the disk also serves interactive programs, those wait longer.

References: `deadline` for bare metal, `noop` for virtual machines and some controllers (2013, 2016). On kernels with
multiple queues (the only ones since 5.0) these are called `mq-deadline` and `none`, and `elevator=` on the kernel's
command line does nothing any more; a rule of udev still works. Kernel, block/switching-sched.rst.
"""

from dbdyno.hosts.rules._devices import in_words, leaves
from dbdyno.hosts.rules._fixes import block, manual
from dbdyno.hosts.rules._sources import cite
from dbdyno.model.fact import Scalar
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Fix, Severity
from dbdyno.model.rule import Rule

_FOR_SPINNING = ("mq-deadline", "deadline")
_FOR_OTHERS = ("none", "noop", "mq-deadline", "deadline", "kyber")


def suiting(facts: Facts, device: str) -> tuple[str, ...]:
    """Names of good schedulers, best first."""
    spins, virtual = facts.flag(f"host.block.{device}.rotational"), facts.flag(f"host.block.{device}.virtual")
    return _FOR_SPINNING if spins and not virtual and not facts.flag("host.virtual") else _FOR_OTHERS


def _fix(facts: Facts, device: str, now: str) -> Fix:
    offered = facts.text(f"host.block.{device}.schedulers").split()
    better = next((name for name in suiting(facts, device) if name in offered), "")
    if not better:
        return manual(f"load a scheduler for {device}", suiting(facts, device)[0])
    return block(facts, device, "scheduler", better, before=now, fact=f"host.block.{device}.scheduler")


def check(facts: Facts) -> Finding | None:
    schedulers = {device: facts.text(f"host.block.{device}.scheduler") for device in leaves(facts)}
    suits = {device: suiting(facts, device) for device in schedulers}
    offers = {device: facts.text(f"host.block.{device}.schedulers").split() for device in schedulers}
    # A device that offers nothing else (a loop, some network disks) has nothing to choose.
    wrong = {device: now for device, now in schedulers.items() if now not in suits[device] and len(offers[device]) > 1}
    if not wrong:
        return None
    what = in_words([f"{device} has {now}" for device, now in wrong.items()])
    return Finding(
        says=f"The I/O scheduler does not suit the disk: {what}.",
        severity=Severity.WARNING if {"cfq", "bfq"} & set(wrong.values()) else Severity.ADVICE,
        fixes=tuple(_fix(facts, device, now) for device, now in wrong.items()),
        verify="cat /sys/block/<disk>/queue/scheduler shows the name in brackets",
    )


_DISK: dict[str, Scalar] = {"host.data.leaves": "sda", "host.log.leaves": "sda", "host.block.sda.rotational": True,
         "host.block.sda.virtual": False, "host.virtual": False,
         "host.block.sda.schedulers": "none mq-deadline bfq"}  # fmt: skip
RULE = Rule(
    id="HOST030",
    title="The I/O scheduler suits the disk",
    topic="disk",
    check=check,
    source=cite("linux-2016", "linux-2013", "kernel, block/switching-sched.rst (2024)"),
    good={**_DISK, "host.block.sda.scheduler": "mq-deadline"},
    bad={**_DISK, "host.block.sda.scheduler": "bfq"},
)
