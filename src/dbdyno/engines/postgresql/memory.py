"""How much memory the settings plan for, and what is left for sorts. For rules and facts alike."""

from __future__ import annotations

from dbdyno.model.facts import Facts

PAGE_BYTES = 8192
KIB = 1024
MIB = 1024**2
GIB = 1024**3
CACHE_PART_MAX = 0.75
"""Most of the memory for shared_buffers: "Tuning PostgreSQL for sysbench-tpcc" (2018), where the hot set fits."""
VACUUM_PART_MAX = 0.125
"""Most for all workers of autovacuum together."""
PLANNED_PART = 0.9
"""What we plan for when we change something; the rest is the kernel's and everybody else's."""


def cache_bytes(facts: Facts) -> float:
    return facts.number("setting.shared_buffers") * PAGE_BYTES


def vacuum_bytes(facts: Facts) -> float:
    """Of all workers of autovacuum at once."""
    maintenance, own = facts.number("setting.maintenance_work_mem"), facts.number("setting.autovacuum_work_mem")
    return facts.number("setting.autovacuum_max_workers") * (own if own > 0 else maintenance) * KIB


def sorts_bytes(facts: Facts) -> float:
    """One work_mem for each connection: a bad hour, not the worst case, since a query may take work_mem several times
    and few connections are ever in one at once."""
    return facts.number("setting.work_mem") * facts.number("setting.max_connections") * KIB


def planned_bytes(facts: Facts) -> float:
    return cache_bytes(facts) + vacuum_bytes(facts) + sorts_bytes(facts)


def sorts_room_kib(facts: Facts) -> int:
    """Largest work_mem, in its unit, with which the plan fits the memory."""
    limit = facts.number("server.memory_limit_bytes")
    cache = min(cache_bytes(facts), CACHE_PART_MAX * limit)
    vacuum = min(vacuum_bytes(facts), VACUUM_PART_MAX * limit)
    room = PLANNED_PART * limit - cache - vacuum
    return max(64, int(room / facts.number("setting.max_connections") / KIB))


def rounded_mib(size_bytes: float, step: int = 64) -> int:
    """Bytes, down to a multiple of `step` MiB, at least one step."""
    return max(1, int(size_bytes // (step * MIB))) * step * MIB
