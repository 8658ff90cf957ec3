"""PG023: Sorts go to temporary files

What it checks: Less than 1 MiB a second goes to temporary files, or work_mem is already as large as the memory allows.

Why it matters: A sort or hash that does not fit into work_mem is written to disk and read again.

Remedy: Raise work_mem as far as the memory allows for all connections; more for single sessions that need it. Where
that does not help, the queries do.

Risk: Each sort or hash of each query may take that much.

References: Tuning PostgreSQL for sysbench-tpcc (Percona, 2018): 4 MB were enough for TPC-C, production usually
differs; PostgreSQL 15 manual, section 20.4 (2022)
"""

from dbdyno.engines.postgresql.memory import KIB, MIB, sorts_room_kib
from dbdyno.engines.postgresql.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule

MUCH_BYTES_PER_S = 1048576
LONG_ENOUGH_S = 3600
LARGEST_KIB = 262144


def check(facts: Facts) -> Finding | None:
    written, age = facts.number("status.temp_bytes_per_s_mean"), facts.number("status.database_stats_age_s")
    target = min(LARGEST_KIB, sorts_room_kib(facts), int(facts.number("server.memory_limit_bytes") / 4
                 / facts.number("setting.max_connections") / KIB))  # fmt: skip
    current = facts.number("setting.work_mem")
    if written < MUCH_BYTES_PER_S or age < LONG_ENOUGH_S or current >= 0.8 * target:
        return None
    return Finding(
        says=f"{written / MIB:.1f} MiB a second go to temporary files, with work_mem = {current:.0f} kB; the memory "
        f"allows {target} kB.",
        fixes=(setting(facts, "work_mem", target),),
    )


RULE = Rule(
    id="PG023",
    title="Few sorts go to temporary files",
    topic="memory",
    check=check,
    source="Tuning PostgreSQL for sysbench-tpcc (Percona, 2018); PostgreSQL 15 manual, 20.4 (2022)",
    good={
        "setting.shared_buffers": 524288,
        "setting.work_mem": 4096,
        "setting.max_connections": 100,
        "setting.maintenance_work_mem": 65536,
        "setting.autovacuum_work_mem": -1,
        "setting.autovacuum_max_workers": 3,
        "server.memory_limit_bytes": 17179869184,
        "server.cluster_bytes": 53687091200,
        "status.temp_bytes_per_s_mean": 1000.0,
        "status.database_stats_age_s": 86400.0,
    },
    bad={
        "setting.shared_buffers": 524288,
        "setting.work_mem": 4096,
        "setting.max_connections": 100,
        "setting.maintenance_work_mem": 65536,
        "setting.autovacuum_work_mem": -1,
        "setting.autovacuum_max_workers": 3,
        "server.memory_limit_bytes": 17179869184,
        "server.cluster_bytes": 53687091200,
        "status.temp_bytes_per_s_mean": 20000000.0,
        "status.database_stats_age_s": 86400.0,
    },
)
