"""GALERA008: the node was left out of flow control

What it checks: wsrep_desync is off.

Why it matters: it is for backups: the node may fall behind without end, and then serves old data or has to be copied.

Remedy: switch it off when the backup is done.

Risk: the node may hold the others up while it catches up.

References: Galera Cluster manual, MySQL wsrep Options (2023)
"""

from dbdyno.engines._mysql.rules._setting import exists, setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    if not facts.flag("setting.wsrep_desync"):
        return None
    return Finding(
        says="wsrep_desync is on: nobody waits for this node.",
        fixes=(setting(facts, "wsrep_desync", "OFF"),),
    )


RULE = Rule(
    id="GALERA008",
    title="The node takes part in flow control",
    topic="cluster",
    check=check,
    source="Galera Cluster manual, MySQL wsrep Options (2023)",
    applies=lambda facts: exists(facts, "wsrep_on") and facts.flag("setting.wsrep_on"),
    good={"setting.wsrep_on": "ON", "setting.wsrep_desync": "OFF"},
    bad={"setting.wsrep_on": "ON", "setting.wsrep_desync": "ON"},
)
