"""GALERA006: the order of commits is kept twice

What it checks: slave_preserve_commit_order is off on a node of a cluster.

Why it matters: it conflicts with the order that the cluster keeps itself: replication threads wait for each other.

Remedy: switch it off on nodes.

Risk: none: the cluster keeps the order.

References: Percona XtraDB Cluster 5.7.12 RC1 is now available (Percona, 2016)
"""

from dbdyno.engines._mysql.rules._setting import exists, setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule

_OLD, _NEW = "slave_preserve_commit_order", "replica_preserve_commit_order"


def check(facts: Facts) -> Finding | None:
    name = _NEW if facts.has(f"setting.{_NEW}") else _OLD
    if not facts.flag(f"setting.{name}"):
        return None
    return Finding(says=f"{name} is on, on a node of a cluster.", fixes=(setting(facts, name, "OFF"),))


def applies(facts: Facts) -> bool:
    """MariaDB has no such setting."""
    return exists(facts, "wsrep_on") and facts.flag("setting.wsrep_on") and (exists(facts, _OLD) or exists(facts, _NEW))


RULE = Rule(
    id="GALERA006",
    title="Only the cluster orders commits",
    topic="cluster",
    check=check,
    source="Percona XtraDB Cluster 5.7.12 RC1 is now available (Percona, 2016)",
    applies=applies,
    good={"setting.wsrep_on": "ON", "setting.slave_preserve_commit_order": "OFF"},
    bad={"setting.wsrep_on": "ON", "setting.slave_preserve_commit_order": "ON"},
)
