"""GALERA001: the cluster has an even number of nodes, or two

What it checks: the cluster has an odd number of nodes, at least three. Not on a node that lost the majority (MY070):
it counts only those that it still sees.

Why it matters: when the network splits into halves, or one of two nodes is lost without a goodbye, no part has a
majority: all refuse statements.

Remedy: add a node; an arbitrator (garbd) votes without data. It counts in wsrep_cluster_size.

Risk: none.

References: Galera Cluster manual, Weighted Quorum (2023)
"""

from dbdyno.engines._mysql.rules._setting import by_hand, exists
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    size = facts.number("status.wsrep_cluster_size")
    if size >= 3 and size % 2:
        return None
    return Finding(
        says=f"{size:.0f} nodes vote: half of them are no majority." if size > 1 else "The cluster is one node.",
        fixes=(by_hand("garbd", "garbd --address gcomm://… --group … # on a machine of its own"),),
    )


def applies(facts: Facts) -> bool:
    if not exists(facts, "wsrep_on") or not facts.flag("setting.wsrep_on"):
        return False
    return facts.text("status.wsrep_cluster_status") == "Primary"


RULE = Rule(
    id="GALERA001",
    title="An odd number of nodes votes",
    topic="cluster",
    check=check,
    source="Galera Cluster manual, Weighted Quorum (2023)",
    applies=applies,
    good={"setting.wsrep_on": "ON", "status.wsrep_cluster_status": "Primary", "status.wsrep_cluster_size": 3},
    bad={"setting.wsrep_on": "ON", "status.wsrep_cluster_status": "Primary", "status.wsrep_cluster_size": 2},
)
