"""VK080: The cluster does not answer for all keys

What it checks: cluster_state is ok.

Why it matters: some keys have no server, and with cluster-require-full-coverage none of them is answered.

Remedy: CLUSTER NODES shows who failed; bring it back, or let a replica take over.

Risk: a forced takeover loses what the replica had not got.

References: Valkey manual, CLUSTER INFO (2024).
"""

from dbdyno.engines.valkey.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    state = facts.text("cluster.state")
    if state == "ok":
        return None
    return Finding(
        says=f"The state of the cluster is {state}.",
        severity=Severity.CRITICAL,
        fixes=(by_hand("cluster", "CLUSTER NODES; CLUSTER INFO"),),
    )


RULE = Rule(
    id="VK080",
    title="The cluster answers for all keys",
    topic="cluster",
    check=check,
    source="Valkey manual, CLUSTER INFO (2024)",
    applies=lambda facts: facts.flag("setting.cluster-enabled"),
    good={"setting.cluster-enabled": "yes", "cluster.state": "ok"},
    bad={"setting.cluster-enabled": "yes", "cluster.state": "fail"},
)
