"""MY071: Nodes are held up by a slow one

What it checks: the node was paused by flow control for less than 5 % of the time.

Why it matters: one slow node stops the writes of all.

Remedy: find the node with the longest receive queue (wsrep_local_recv_queue_avg); more applier threads there, or a
better disk.

Risk: none.

References: Galera manual, Monitoring the Cluster (2023).
"""

from dbdyno.engines._mysql.rules._setting import by_hand, exists
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    paused = facts.number("status.wsrep_flow_control_paused")
    if paused < 0.05:
        return None
    return Finding(
        says=f"Flow control paused the node for {paused:.0%} of the time.",
        fixes=(by_hand("wsrep", "SHOW GLOBAL STATUS LIKE 'wsrep_local_recv_queue_avg'; -- on each node"),),
    )


RULE = Rule(
    id="MY071",
    title="Flow control hardly stops the cluster",
    topic="cluster",
    check=check,
    source="Galera Cluster manual, Monitoring (2023)",
    applies=lambda facts: exists(facts, "wsrep_on") and facts.flag("setting.wsrep_on"),
    good={"setting.wsrep_on": "ON", "status.wsrep_flow_control_paused": 0.001},
    bad={"setting.wsrep_on": "ON", "status.wsrep_flow_control_paused": 0.4},
)
