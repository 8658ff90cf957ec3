"""INNO011: Waits for free pages or for the log buffer

What it checks: nobody had to wait for a clean page (Innodb_buffer_pool_wait_free), or for room in the log buffer
(Innodb_log_waits), more than ten times an hour.

Why it matters: a statement then writes pages itself before it can read one, or waits for the log to be written in the
middle of a transaction.

Remedy: more free pages: raise innodb_lru_scan_depth or the pool; log waits: double innodb_log_buffer_size.

Risk: a little memory.

References: MySQL 8.0 manual, 5.1.10 (2023); "Tuning for heavy writing workloads" (Percona, undated): 128 MB of log
buffer.
"""

from dbdyno.engines._mysql.memory import rocksdb_leads
from dbdyno.engines._mysql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Fix
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    hours = max(facts.number("server.uptime_s") / 3600, 1.0)
    free, log = facts.number("status.innodb_buffer_pool_wait_free"), facts.number("status.innodb_log_waits")
    found = []
    fixes: tuple[Fix, ...] = ()
    if free > 10 * hours:
        found.append(f"{free:.0f} waits for a free page")
        fixes += (by_hand("innodb_lru_scan_depth", "SET GLOBAL innodb_lru_scan_depth = …; -- or a larger pool"),)
    if log > 10 * hours:
        found.append(f"{log:.0f} waits for the log buffer")
        fixes += (by_hand("innodb_log_buffer_size", "innodb_log_buffer_size: double it"),)
    if not found:
        return None
    return Finding(says=f"In {hours:.0f} h: {', '.join(found)}.", fixes=fixes)


RULE = Rule(
    id="INNO011",
    title="No statement waits for a free page or for log space",
    topic="memory",
    check=check,
    source="MySQL 8.0 manual, 5.1.10 Server Status Variables (2023)",
    applies=lambda facts: not rocksdb_leads(facts),
    good={"server.uptime_s": 86400, "status.innodb_buffer_pool_wait_free": 0, "status.innodb_log_waits": 0},
    bad={"server.uptime_s": 86400, "status.innodb_buffer_pool_wait_free": 1000000, "status.innodb_log_waits": 0},
)
