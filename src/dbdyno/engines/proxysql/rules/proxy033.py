"""PROXY033: Programs are told of an old server

What it checks: mysql-server_version is not of a series before 8.0 (or MariaDB's 10).

Why it matters: programs choose their statements and character sets by it: a proxy of 5.5.30, an old default, hides
what the servers can do.

Remedy: mysql-server_version as the oldest of the servers has it.

Risk: programs may use what only newer servers know: all servers must be as new.

References: ProxySQL documentation, Global variables, mysql-server_version (2024).
"""

from dbdyno.engines.proxysql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule

OLD = ("5.1", "5.5", "5.6", "5.7")


def check(facts: Facts) -> Finding | None:
    told = facts.text("setting.mysql-server_version")
    if not told.startswith(OLD):
        return None
    return Finding(
        says=f"Programs are told that the server is {told}.",
        severity=Severity.ADVICE,
        confidence=0.7,
        fixes=(by_hand("mysql-server_version", "SELECT version() on the servers, then UPDATE global_variables …"),),
    )


RULE = Rule(
    id="PROXY033",
    title="Programs are told the servers' version",
    topic="version",
    check=check,
    source="ProxySQL documentation, Global variables, mysql-server_version (2024)",
    good={"setting.mysql-server_version": "8.0.36"},
    bad={"setting.mysql-server_version": "5.5.30"},
)
