"""HOST011: memory is being swapped

What it checks: between two readings nothing worth naming was swapped in or out (100 KiB a second), and less than a
tenth of the server's memory lies in swap.

Why it matters: a server counts on its cache being memory. A page that comes back from swap costs a disk read while a
lock may be held.

Remedy: see what took the memory (a backup's file cache, another program, the server's own per-connection memory),
make the server's cache smaller or move the rest; then swapoff and swapon when there is room.

Risk: a smaller cache reads more from the disk.

References: the hunt for episodic swapping of 2013: memory seemed free until the write cache took it.
"""

from dbdyno.hosts.rules._fixes import manual
from dbdyno.hosts.rules._sizes import KIB, size
from dbdyno.hosts.rules._sources import cite
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule

_RATE = 100 * KIB
_SHARE = 0.1


def check(facts: Facts) -> Finding | None:
    out, back = facts.number("host.now.swap_out_bytes_per_s"), facts.number("host.now.swap_in_bytes_per_s")
    lying = facts.number("host.server.swapped_bytes") if facts.has("host.server.swapped_bytes") else 0.0
    resident = facts.number("host.server.resident_bytes") if facts.has("host.server.resident_bytes") else 0.0
    fixes = (manual("find what takes the memory"),)
    if max(out, back) > _RATE:
        says = f"The machine swaps now: {size(out)} a second out, {size(back)} in."
        return Finding(says=says, severity=Severity.CRITICAL, fixes=fixes)
    if lying > _SHARE * (resident + lying):
        says = f"{size(lying)} of the server's memory lie in swap, beside {size(resident)} in memory."
        return Finding(says=says, severity=Severity.WARNING, fixes=fixes)
    return None


RULE = Rule(
    id="HOST011",
    title="Nothing is being swapped",
    topic="memory",
    check=check,
    source=cite("swap-2013"),
    good={"host.now.swap_out_bytes_per_s": 0, "host.now.swap_in_bytes_per_s": 0},
    bad={"host.now.swap_out_bytes_per_s": 4_000_000, "host.now.swap_in_bytes_per_s": 0},
)
