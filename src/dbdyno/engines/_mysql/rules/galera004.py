"""GALERA004: flow control begins after a few write sets

What it checks: where flow control paused the node for more than a hundredth of the time, gcs.fc_limit is more than
16.

Why it matters: with so short a queue each burst and each slow write of one node stops all.

Remedy: 100 or more; nodes that are read then show older data unless wsrep_sync_wait is used. First see why the node
is slow (MY071, GALERA003).

Risk: a longer queue to apply before a node takes over.

References: Galera Cluster manual, Managing Flow Control (2023): default 16
"""

import re

from dbdyno.engines._mysql.rules._setting import by_hand, exists
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    paused = facts.number("status.wsrep_flow_control_paused")
    match = re.search(r"gcs\.fc_limit\s*=\s*(\d+)", facts.text("setting.wsrep_provider_options"))
    limit = int(match[1]) if match else 16
    if paused < 0.01 or limit > 16:
        return None
    command = "SET GLOBAL wsrep_provider_options = 'gcs.fc_limit={}';"
    return Finding(
        says=f"Flow control paused the node for {paused:.1%} of the time, with gcs.fc_limit = {limit}.",
        severity=Severity.ADVICE,
        fixes=(by_hand("gcs.fc_limit", command.format(100), undo=command.format(limit)),),
    )


RULE = Rule(
    id="GALERA004",
    title="Flow control bears a burst",
    topic="cluster",
    check=check,
    source="Galera Cluster manual, Managing Flow Control (2023)",
    applies=lambda facts: exists(facts, "wsrep_on") and facts.flag("setting.wsrep_on"),
    good={
        "setting.wsrep_on": "ON",
        "status.wsrep_flow_control_paused": 0.03,
        "setting.wsrep_provider_options": "gcs.fc_limit = 160",
    },
    bad={
        "setting.wsrep_on": "ON",
        "status.wsrep_flow_control_paused": 0.03,
        "setting.wsrep_provider_options": "gcache.size = 128M; gcs.fc_limit = 16",
    },
)
