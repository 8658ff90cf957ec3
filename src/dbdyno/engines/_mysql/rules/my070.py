"""MY070: The node is no working part of its cluster

What it checks: wsrep_cluster_status is Primary and the node is Synced.

Why it matters: a node outside the primary component refuses statements; one that is a donor or joins lags behind.

Remedy: look at the network and the other nodes; bootstrap only the node with the latest state.

Risk: a wrong bootstrap makes two clusters that differ.

References: Galera manual, Monitoring the Cluster (2023).
"""

from dbdyno.engines._mysql.rules._setting import by_hand, exists
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    cluster, node = facts.text("status.wsrep_cluster_status"), facts.text("status.wsrep_local_state_comment")
    if cluster == "Primary" and node == "Synced":
        return None
    return Finding(
        says=f"The cluster is {cluster}, the node is {node}.",
        severity=Severity.CRITICAL if cluster != "Primary" else Severity.WARNING,
        fixes=(by_hand("wsrep", "SHOW GLOBAL STATUS LIKE 'wsrep%';"),),
    )


RULE = Rule(
    id="MY070",
    title="The node is a working part of its cluster",
    topic="cluster",
    check=check,
    source="Galera Cluster manual, Monitoring (2023)",
    applies=lambda facts: exists(facts, "wsrep_on") and facts.flag("setting.wsrep_on"),
    good={
        "setting.wsrep_on": "ON",
        "status.wsrep_cluster_status": "Primary",
        "status.wsrep_local_state_comment": "Synced",
    },
    bad={
        "setting.wsrep_on": "ON",
        "status.wsrep_cluster_status": "non-Primary",
        "status.wsrep_local_state_comment": "Initialized",
    },
)
