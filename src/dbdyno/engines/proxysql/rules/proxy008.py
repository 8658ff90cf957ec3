"""PROXY008: Traffic to the servers is not encrypted

What it checks: servers on other machines have use_ssl = 1.

Why it matters: data crosses the network in the clear, although the programs may use TLS up to here.

Remedy: use_ssl = 1 for each server that knows TLS; or a network that is encrypted itself.

Risk: connections are made more slowly, which pooling hides.

References: "ProxySQL 1.2.1 GA Release" (Percona, 2016): SSL to the servers since 1.2.1.
"""

from dbdyno.engines.proxysql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    count, examples = facts.number("backends.plain_count"), facts.text("backends.plain_examples")
    if not count:
        return None
    return Finding(
        says=f"{count:.0f} servers are reached without encryption: {examples}.",
        severity=Severity.ADVICE,
        fixes=(by_hand("use_ssl", "UPDATE mysql_servers SET use_ssl = 1; then LOAD and SAVE MYSQL SERVERS"),),
    )


RULE = Rule(
    id="PROXY008",
    title="Traffic to the servers is encrypted",
    topic="security",
    check=check,
    source="ProxySQL 1.2.1 GA Release (Percona, 2016)",
    good={"backends.plain_count": 0, "backends.plain_examples": ""},
    bad={"backends.plain_count": 2, "backends.plain_examples": "db1:3306, db2:3306"},
)
