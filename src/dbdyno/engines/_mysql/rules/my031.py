"""MY031: A replica takes writes

What it checks: read_only is on where the server is a replica.

Why it matters: a write on the replica makes it differ from its source, and replication stops at the first conflict,
or never does.

Remedy: read_only = ON (super_read_only too, where there is one).

Risk: programs that write there get an error.

References: MySQL 8.0 manual, 5.1.8 read_only (2023). Servers that copy each other on purpose may accept this finding
with a baseline.
"""

from dbdyno.engines._mysql.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    if facts.flag("setting.read_only"):
        return None
    return Finding(says="The replica takes writes.", fixes=(setting(facts, "read_only", "ON"),))


RULE = Rule(
    id="MY031",
    title="A replica takes no writes",
    topic="replication",
    check=check,
    source="MySQL 8.0 manual, 5.1.8 (2023)",
    applies=lambda facts: facts.text("server.role") == "replica",
    good={"server.role": "replica", "setting.read_only": "ON"},
    bad={"server.role": "replica", "setting.read_only": "OFF"},
)
