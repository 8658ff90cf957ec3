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
CACHE_PART_MIN = 0.1
"""Least, where the data is larger than the cache."""
CACHE_PART = 0.25
"""Where nothing was measured: PostgreSQL 15 manual, 20.4 (2022)."""
PLANNED_PART = 0.9
"""What we plan for when we change something; the rest is the kernel's and everybody else's."""


def cache_bytes(facts: Facts) -> float:
    return facts.number("setting.shared_buffers") * PAGE_BYTES


def cache_wanted_bytes(facts: Facts) -> float:
    """What rule PG020 leaves: the cache as it is, or a quarter of the memory when its share makes no sense."""
    limit, cache = facts.number("server.memory_limit_bytes"), cache_bytes(facts)
    data, part = facts.number("server.cluster_bytes"), cache / limit
    sensible = part <= CACHE_PART_MAX and (part >= CACHE_PART_MIN or data <= cache)
    return cache if sensible else float(rounded_mib(limit * CACHE_PART))


def maintenance_wanted_bytes(facts: Facts) -> float:
    """What PG024 leaves of maintenance_work_mem: a 64th of the memory where it is far smaller and there is data."""
    limit, data = facts.number("server.memory_limit_bytes"), facts.number("server.cluster_bytes")
    current = facts.number("setting.maintenance_work_mem") * KIB
    target = min(2 * GIB, max(64 * MIB, rounded_mib(limit / 64, 16)))
    return target if data > GIB and current < target / 2 else current


def vacuum_each_bytes(facts: Facts) -> float:
    """Of one worker of autovacuum, after the advice on maintenance_work_mem."""
    own = facts.number("setting.autovacuum_work_mem")
    maintenance = maintenance_wanted_bytes(facts)
    return own * KIB if own > 0 else maintenance


def vacuum_bytes(facts: Facts) -> float:
    """Of all workers of autovacuum at once."""
    return facts.number("setting.autovacuum_max_workers") * vacuum_each_bytes(facts)


def sorts_bytes(facts: Facts) -> float:
    """One work_mem for each connection: a bad hour, not the worst case, since a query may take work_mem several times
    and few connections are ever in one at once."""
    return facts.number("setting.work_mem") * facts.number("setting.max_connections") * KIB


def planned_bytes(facts: Facts) -> float:
    """The plan, once the advice on the two caches was taken: else one advice would bring the next."""
    return cache_wanted_bytes(facts) + vacuum_bytes(facts) + sorts_bytes(facts)


def sorts_room_kib(facts: Facts) -> int:
    """Largest work_mem, in its unit, with which the plan fits the memory."""
    limit, vacuum = facts.number("server.memory_limit_bytes"), vacuum_bytes(facts)
    if planned_bytes(facts) > limit:
        # Then rule PG021 bounds autovacuum too.
        vacuum = min(vacuum, VACUUM_PART_MAX * limit)
    room = PLANNED_PART * limit - cache_wanted_bytes(facts) - vacuum
    return max(64, int(room / facts.number("setting.max_connections") / KIB))


def rounded_mib(size_bytes: float, step: int = 64) -> int:
    """Bytes, down to a multiple of `step` MiB, at least one step."""
    return max(1, int(size_bytes // (step * MIB))) * step * MIB
