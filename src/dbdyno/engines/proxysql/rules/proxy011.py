"""PROXY011: Servers in force are not on disk

What it checks: the running layer and the one on disk have the same servers.

Why it matters: the next start sends traffic to the servers of old.

Remedy: SAVE MYSQL SERVERS TO DISK, when what runs is what is meant. After a switch-over that the monitor followed,
this is expected.

Risk: none; look at both first.

References: ProxySQL documentation, Multi-layer configuration system (2024).
"""

from dbdyno.engines.proxysql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    count, examples = facts.number("config.servers_differ_count"), facts.text("config.servers_differ_examples")
    if not count:
        return None
    return Finding(
        says=f"{count:.0f} servers differ: {examples}.",
        severity=Severity.WARNING,
        fixes=(by_hand("SAVE", "SAVE MYSQL SERVERS FROM RUNTIME; SAVE MYSQL SERVERS TO DISK;"),),
    )


RULE = Rule(
    id="PROXY011",
    title="The servers in force are on disk",
    topic="configuration",
    check=check,
    source="ProxySQL documentation, Multi-layer configuration system (2024)",
    good={"config.servers_differ_count": 0, "config.servers_differ_examples": ""},
    bad={"config.servers_differ_count": 1, "config.servers_differ_examples": "10/db2:3306"},
)
