"""PROXY034: Large statements and results are kept whole

What it checks: mysql-threshold_query_length is at most 16 MiB and mysql-threshold_resultset_size at most 64 MiB.

Why it matters: below them a statement or a result is held in memory whole, for each connection.

Remedy: the defaults: 512 KiB and 4 MiB.

Risk: statements above the threshold are not rewritten, cached or counted; results above it are passed on as they
come.

References: ProxySQL documentation, Global variables, mysql-threshold_query_length (2024).
"""

from dbdyno.engines.proxysql.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule

DEFAULTS = {"mysql-threshold_query_length": 524_288, "mysql-threshold_resultset_size": 4_194_304}
MOST = {"mysql-threshold_query_length": 16 << 20, "mysql-threshold_resultset_size": 64 << 20}


def check(facts: Facts) -> Finding | None:
    values = {name: facts.number(f"setting.{name}") for name in DEFAULTS}
    large = {name: value for name, value in values.items() if value > MOST[name]}
    if not large:
        return None
    return Finding(
        says="Kept whole in memory: " + ", ".join(f"{name} = {value:.0f}" for name, value in large.items()) + ".",
        severity=Severity.ADVICE,
        fixes=tuple(setting(facts, name, DEFAULTS[name]) for name in large),
    )


RULE = Rule(
    id="PROXY034",
    title="Large statements and results pass through",
    topic="memory",
    check=check,
    source="ProxySQL documentation, Global variables, mysql-threshold_query_length (2024)",
    good={"setting.mysql-threshold_query_length": 524288, "setting.mysql-threshold_resultset_size": 4194304},
    bad={"setting.mysql-threshold_query_length": 1073741824, "setting.mysql-threshold_resultset_size": 4194304},
)
