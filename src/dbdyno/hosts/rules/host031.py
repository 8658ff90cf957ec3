"""HOST031: the disk is read ahead too far, or not at all

What it checks: read-ahead of the mounted devices is 4 to 256 KiB on solid-state disks and up to 512 KiB on spinning
ones, unless the server bypasses the kernel's cache.

Why it matters: random reads of a few kilobytes bring that much each time: bandwidth is wasted and the cache is filled
with what nobody asked for. With none at all, scans read block by block.

Remedy: 128 KiB, the kernel's own default. If all reads are random, go down towards 16 KiB while you measure.

Risk: scans and backups read slower with less.

References: 16 KB is the start that the article of 2016 gives for random access, to be changed by measurement; 128 KiB
is the kernel's default and harms little, so values between pass, and only excess (arrays and some cloud images set 4
MiB and more) is a finding. A server that bypasses the page cache is not concerned. Kernel, ABI/stable/sysfs-block.
"""

from dbdyno.hosts.rules._devices import in_words, tops
from dbdyno.hosts.rules._fixes import block
from dbdyno.hosts.rules._sizes import KIB, size
from dbdyno.hosts.rules._sources import cite
from dbdyno.hosts.tree import ABSENT
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule

LEAST_BYTES, TARGET_BYTES = 4 * KIB, 128 * KIB
MOST_BYTES, SPINNING_MOST_BYTES = 256 * KIB, 512 * KIB


def _concerned(facts: Facts) -> bool:
    bypasses = facts.has("server.uses_page_cache") and not facts.flag("server.uses_page_cache")
    return not bypasses and tops(facts) != [ABSENT]


def check(facts: Facts) -> Finding | None:
    wrong = {}
    for device in tops(facts):
        now, spins = (
            facts.number(f"host.block.{device}.read_ahead_bytes"),
            facts.flag(f"host.block.{device}.rotational"),
        )
        if not LEAST_BYTES <= now <= (SPINNING_MOST_BYTES if spins else MOST_BYTES):
            wrong[device] = now
    if not wrong:
        return None
    what = in_words([f"{size(now)} on {device}" if now else f"nothing on {device}" for device, now in wrong.items()])
    return Finding(
        says=f"Each read brings too much or too little with it: {what}.",
        severity=Severity.ADVICE,
        fixes=tuple(
            block(facts, device, "read_ahead_kb", str(TARGET_BYTES // KIB), before=f"{now / KIB:g}")
            for device, now in wrong.items()
        ),
        verify="cat /sys/block/<disk>/queue/read_ahead_kb shows 128",
    )


RULE = Rule(
    id="HOST031",
    title="Read-ahead suits random reads",
    topic="disk",
    check=check,
    applies=_concerned,
    source=cite("linux-2016", "kernel, ABI/stable/sysfs-block (2024)"),
    good={"host.data.device": "sda", "host.log.device": "sda", "host.block.sda.read_ahead_bytes": 128 * KIB,
          "host.block.sda.rotational": False},
    bad={"host.data.device": "sda", "host.log.device": "sda", "host.block.sda.read_ahead_bytes": 8192 * KIB,
         "host.block.sda.rotational": False},
)  # fmt: skip
