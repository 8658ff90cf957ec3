"""HOST003: writing in the background begins too late

What it checks: what vm.dirty_background_bytes or vm.dirty_background_ratio is in bytes: at most 1 GiB, and at most
half of what writers may pile up.

Why it matters: below that limit nothing is written for up to 30 seconds. On large memory the stock 10 percent are
many gigabytes that then go to the disk at once and hold up every flush of the server's log behind them.

Remedy: set vm.dirty_background_bytes to 256 MiB: small enough for a burst of a second, large enough to merge writes.

Risk: data that is overwritten within seconds is written more often.

References: 5 percent from 64 GB on, 3 in a vendor's profile (2016), given when memory was small. Bytes do not grow
with memory. Kernel, admin-guide/sysctl/vm.rst.
"""

from dbdyno.hosts.rules._dirty import BACKGROUND, background_most_bytes, limit_bytes
from dbdyno.hosts.rules._sizes import GIB, size
from dbdyno.hosts.rules._sources import cite
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule

WANTED = (BACKGROUND,)


def check(facts: Facts) -> Finding | None:
    now, most = limit_bytes(facts, "vm.dirty_background"), background_most_bytes(facts)
    if now <= most:
        return None
    return Finding(
        says=f"Writing in the background begins only at {size(now)} of unwritten data, later than {size(most)}.",
        severity=Severity.ADVICE,
        fixes=(BACKGROUND.fix(facts),),
    )


RULE = Rule(
    id="HOST003",
    title="The kernel begins to write early enough",
    topic="memory",
    check=check,
    source=cite("linux-2016", "kernel, admin-guide/sysctl/vm.rst (2024)"),
    good={"host.sysctl.vm.dirty_background_bytes": 0, "host.sysctl.vm.dirty_background_ratio": 10,
          "host.mem.memory_bytes": 8 * GIB, "host.neighbours_bytes": 0},
    bad={"host.sysctl.vm.dirty_background_bytes": 0, "host.sysctl.vm.dirty_background_ratio": 10,
         "host.mem.memory_bytes": 48 * GIB, "host.neighbours_bytes": 0},
)  # fmt: skip
