"""Both limits on unwritten data, in bytes. The kernel holds each as a ratio or as bytes; what was set last counts.

Source: kernel, admin-guide/sysctl/vm.rst; ratios are of the memory that is available, here of all (an upper bound).
"""

from __future__ import annotations

from dbdyno.hosts.rules._sizes import GIB, MIB
from dbdyno.hosts.rules._sysctl import Wanted
from dbdyno.model.facts import Facts

ALONE_MOST_BYTES, ALONE_BYTES = 4 * GIB, 2 * GIB
SHARED_MOST_BYTES = 1 * GIB
BACKGROUND_MOST_BYTES, BACKGROUND_BYTES = 1 * GIB, 256 * MIB


def limit_bytes(facts: Facts, limit: str, below: str = "host.sysctl") -> float:
    """`vm.dirty` or `vm.dirty_background` in bytes of this machine, now or at the next boot."""
    share = facts.number(f"{below}.{limit}_ratio") / 100 * facts.number("host.mem.memory_bytes")
    return facts.number(f"{below}.{limit}_bytes") or share


def most_bytes(facts: Facts) -> float:
    """The most that writers may pile up."""
    return SHARED_MOST_BYTES if facts.number("host.neighbours_bytes") > 0 else ALONE_MOST_BYTES


def _target(facts: Facts) -> int:
    return SHARED_MOST_BYTES if facts.number("host.neighbours_bytes") > 0 else ALONE_BYTES


def background_most_bytes(facts: Facts) -> float:
    """Where writing in the background begins at the latest: well before writers are stopped."""
    return min(BACKGROUND_MOST_BYTES, most_bytes(facts) / 2)


DIRTY = Wanted(
    "vm.dirty_bytes",
    lambda facts, value: float(str(value)) <= most_bytes(facts),
    _target,
    lambda facts, below: limit_bytes(facts, "vm.dirty", below) <= most_bytes(facts),
)
BACKGROUND = Wanted(
    "vm.dirty_background_bytes",
    lambda facts, value: float(str(value)) <= background_most_bytes(facts),
    lambda _: BACKGROUND_BYTES,
    lambda facts, below: limit_bytes(facts, "vm.dirty_background", below) <= background_most_bytes(facts),
)
