"""PG024: maintenance_work_mem is small for the data

What it checks: maintenance_work_mem is at least a 128th of the memory where the data has more than a GiB.

Why it matters: VACUUM reads all indexes again each time that this memory is full of dead rows, and index builds sort
in more passes.

Remedy: A 64th of the memory, at least 64 MiB, at most 2 GiB.

Risk: Each worker of autovacuum may take that much.

References: Tuning PostgreSQL for sysbench-tpcc (Percona, 2018): 2 GB of 256 GB while running, 20 GB while loading;
PostgreSQL 15 manual, section 20.4 (2022)
"""

from dbdyno.engines.postgresql.memory import GIB, KIB, MIB, maintenance_wanted_bytes
from dbdyno.engines.postgresql.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    data = facts.number("server.cluster_bytes")
    current = facts.number("setting.maintenance_work_mem") * KIB
    target = maintenance_wanted_bytes(facts)
    if target == current:
        return None
    return Finding(
        says=f"maintenance_work_mem is {current / MIB:.0f} MiB for {data / GIB:.1f} GiB of data.",
        severity=Severity.ADVICE,
        fixes=(setting(facts, "maintenance_work_mem", int(target) // KIB),),
    )


RULE = Rule(
    id="PG024",
    title="maintenance_work_mem fits the data",
    topic="memory",
    check=check,
    source="Tuning PostgreSQL for sysbench-tpcc (Percona, 2018); PostgreSQL 15 manual, 20.4 (2022)",
    good={
        "setting.maintenance_work_mem": 262144,
        "server.memory_limit_bytes": 17179869184,
        "server.cluster_bytes": 53687091200,
    },
    bad={
        "setting.maintenance_work_mem": 16384,
        "server.memory_limit_bytes": 17179869184,
        "server.cluster_bytes": 53687091200,
    },
)
