"""PROXY030: Multiplexing is off

What it checks: mysql-multiplexing is true.

Why it matters: each connection of a program holds one to a server: the pool, for which the proxy stands there, does
nothing.

Remedy: mysql-multiplexing true; rules with multiplex = 0 for the few statements that need a session.

Risk: programs that rely on the state of a session which the proxy does not track.

References: ProxySQL documentation, Multiplexing (2024).
"""

from dbdyno.engines.proxysql.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    if facts.flag("setting.mysql-multiplexing"):
        return None
    return Finding(
        says="mysql-multiplexing is false: each program holds a connection to a server.",
        fixes=(setting(facts, "mysql-multiplexing", "true"),),
    )


RULE = Rule(
    id="PROXY030",
    title="Connections are shared",
    topic="connections",
    check=check,
    source="ProxySQL documentation, Multiplexing (2024)",
    good={"setting.mysql-multiplexing": "true"},
    bad={"setting.mysql-multiplexing": "false"},
)
