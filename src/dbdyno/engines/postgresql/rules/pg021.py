"""PG021: The settings plan for more memory than there is

What it checks: shared_buffers, one work_mem for each connection and the workers of autovacuum fit into the memory that
the server may use.

Why it matters: When they do not, a busy hour ends with swapping or with the kernel killing a process, after which the
whole server restarts. The limit counts, not the host: in a container it is the container's.

Remedy: Lower work_mem (or the number of connections, with a pooler), and give autovacuum a work memory of its own.

Risk: Sorts that do not fit go to temporary files.

References: Is 80% of RAM how you should tune your innodb_buffer_pool_size? (Percona, 2015) for the budget; PostgreSQL
15 manual, section 20.4 (2022); Tuning PostgreSQL for sysbench-tpcc (Percona, 2018): work_mem counts for each sort, not
for each session.
"""

from dbdyno.engines.postgresql.memory import GIB, KIB, VACUUM_PART_MAX, planned_bytes, sorts_room_kib, vacuum_bytes
from dbdyno.engines.postgresql.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Fix, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    limit, planned = facts.number("server.memory_limit_bytes"), planned_bytes(facts)
    if planned <= limit:
        return None
    fixes: tuple[Fix, ...] = ()
    if vacuum_bytes(facts) > VACUUM_PART_MAX * limit:
        each = max(1024, int(VACUUM_PART_MAX * limit / facts.number("setting.autovacuum_max_workers") / KIB))
        fixes += (setting(facts, "autovacuum_work_mem", each),)
    if facts.number("setting.work_mem") > (room := sorts_room_kib(facts)):
        fixes += (setting(facts, "work_mem", room),)
    return Finding(
        says=f"The settings plan for {planned / GIB:.1f} GiB, {planned / limit:.0%} of the {limit / GIB:.1f} GiB that "
        "the server may use.",
        severity=Severity.CRITICAL,
        fixes=fixes,
    )


RULE = Rule(
    id="PG021",
    title="The planned memory fits",
    topic="memory",
    check=check,
    source="PostgreSQL 15 manual, 20.4 (2022); Tuning PostgreSQL for sysbench-tpcc (Percona, 2018)",
    good={
        "setting.shared_buffers": 524288,
        "setting.work_mem": 4096,
        "setting.max_connections": 100,
        "setting.maintenance_work_mem": 65536,
        "setting.autovacuum_work_mem": -1,
        "setting.autovacuum_max_workers": 3,
        "server.memory_limit_bytes": 17179869184,
        "server.cluster_bytes": 53687091200,
    },
    bad={
        "setting.shared_buffers": 524288,
        "setting.work_mem": 262144,
        "setting.max_connections": 100,
        "setting.maintenance_work_mem": 1048576,
        "setting.autovacuum_work_mem": -1,
        "setting.autovacuum_max_workers": 3,
        "server.memory_limit_bytes": 17179869184,
        "server.cluster_bytes": 53687091200,
    },
)
