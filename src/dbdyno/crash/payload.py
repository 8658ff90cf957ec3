"""What stands in a row of the ledger: it follows from client, number and part (driver/workloads/src/ledger)."""

from __future__ import annotations

import functools

_GAMMA = 0x9E3779B97F4A7C15
_MASK = 2**64 - 1


def _mix(value: int) -> int:
    """The output function of splitmix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators",
    2014)."""
    z = (value + _GAMMA) & _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return z ^ (z >> 31)


@functools.lru_cache(maxsize=200_000)
def payload(client: int, number: int, part: int, blocks: int) -> str:
    """Text of `blocks` times sixteen hexadecimal digits."""
    seed = _mix(_mix(_mix(part) ^ number) ^ client)
    return "".join(f"{_mix((seed + block * _GAMMA) & _MASK):016x}" for block in range(blocks))
