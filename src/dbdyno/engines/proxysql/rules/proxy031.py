"""PROXY031: More threads than cores

What it checks: mysql-threads is at most the number of cores.

Why it matters: threads take each other's time; fewer than cores on a machine of its own leave some idle.

Remedy: mysql-threads as many as cores, and a restart.

Risk: a restart cuts all connections.

References: ProxySQL documentation, Global variables, mysql-threads (2024).
"""

from dbdyno.engines.proxysql.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    threads, cores = facts.number("setting.mysql-threads"), facts.number("host.cores")
    if threads <= cores:
        return None
    return Finding(
        says=f"{threads:.0f} threads on {cores:.0f} cores.",
        severity=Severity.ADVICE,
        fixes=(setting(facts, "mysql-threads", int(cores)),),
    )


RULE = Rule(
    id="PROXY031",
    title="Threads have a core each",
    topic="performance",
    check=check,
    source="ProxySQL documentation, Global variables, mysql-threads (2024)",
    good={"setting.mysql-threads": 4, "host.cores": 8},
    bad={"setting.mysql-threads": 16, "host.cores": 4},
)
