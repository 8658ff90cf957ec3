"""MY025: The query cache is on

What it checks: query_cache_type is OFF or query_cache_size is 0.

Why it matters: one lock guards it: every statement waits there, and every change throws out all results of its table.
MySQL 8.0 has removed it.

Remedy: switch it off: size 0 and type OFF. Keep results in the program or in front of the server.

Risk: statements that were answered from it run again.

References: MySQL 8.0 release notes (2018); MariaDB manual, Query Cache (2024): off by default since 10.1.7.
"""

from dbdyno.engines._mysql.rules._setting import MIB, mariadb, setting, since
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    kind, size = facts.text("setting.query_cache_type"), facts.number("setting.query_cache_size")
    if kind.upper() in ("OFF", "0") or size == 0:
        return None
    return Finding(
        says=f"query_cache_type is {kind} with {size / MIB:.0f} MiB.",
        fixes=(setting(facts, "query_cache_type", "OFF"), setting(facts, "query_cache_size", 0)),
    )


RULE = Rule(
    id="MY025",
    title="The query cache is off",
    topic="memory",
    check=check,
    source="MySQL 8.0 release notes (2018); MariaDB manual, Query Cache (2024)",
    applies=lambda facts: since(facts, mysql=0, maria=0) and (mariadb(facts) or since(facts, mysql=0, below=80000)),
    good={"server.version": 1101119, "setting.query_cache_type": "OFF", "setting.query_cache_size": 1048576},
    bad={"server.version": 1101119, "setting.query_cache_type": "ON", "setting.query_cache_size": 67108864},
)
