"""MY023: Threads are made and thrown away

What it checks: fewer than a tenth of the connections needed a new thread, or fewer than one a second.

Why it matters: making a thread for each connection costs more than the short statement that it serves.

Remedy: thread_cache_size of 100; better, a pool in the clients.

Risk: idle threads take a little memory.

References: MySQL 8.0 manual, 5.1.12.1 (2023).
"""

from dbdyno.engines._mysql.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    created, connections = facts.number("status.threads_created"), facts.number("status.connections")
    uptime, size = facts.number("server.uptime_s"), facts.number("setting.thread_cache_size")
    if created < 0.1 * connections or created < max(uptime, 1000) or size >= 100:
        return None
    return Finding(
        says=f"{created:.0f} threads were made for {connections:.0f} connections; thread_cache_size is {size:.0f}.",
        severity=Severity.ADVICE,
        fixes=(setting(facts, "thread_cache_size", 100),),
    )


RULE = Rule(
    id="MY023",
    title="Threads are kept for the next connection",
    topic="connections",
    check=check,
    source="MySQL 8.0 manual, 5.1.12.1 (2023)",
    good={
        "status.threads_created": 20,
        "status.connections": 10000,
        "server.uptime_s": 86400,
        "setting.thread_cache_size": 9,
    },
    bad={
        "status.threads_created": 900000,
        "status.connections": 1000000,
        "server.uptime_s": 86400,
        "setting.thread_cache_size": 0,
    },
)
