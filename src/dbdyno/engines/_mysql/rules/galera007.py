"""GALERA007: a joining node stops its donor

What it checks: wsrep_sst_method is not rsync or mysqldump.

Why it matters: both block the donor for as long as all data is copied; the cluster then has two nodes fewer.

Remedy: mariabackup, xtrabackup-v2 or clone, each with an account or a plugin of its own.

Risk: prepare it on all nodes before a node joins.

References: Galera Cluster manual, State Snapshot Transfers (2023)
"""

from dbdyno.engines._mysql.rules._setting import by_hand, exists
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    method = facts.text("setting.wsrep_sst_method")
    if method not in ("rsync", "mysqldump", "rsync_wan"):
        return None
    return Finding(
        says=f"wsrep_sst_method is {method}: a whole copy blocks the node that gives it.",
        severity=Severity.ADVICE,
        fixes=(by_hand("wsrep_sst_method", "SET GLOBAL wsrep_sst_method = 'mariabackup'; -- and in the option file"),),
    )


RULE = Rule(
    id="GALERA007",
    title="A joining node does not stop its donor",
    topic="cluster",
    check=check,
    source="Galera Cluster manual, State Snapshot Transfers (2023)",
    applies=lambda facts: exists(facts, "wsrep_on") and facts.flag("setting.wsrep_on"),
    good={"setting.wsrep_on": "ON", "setting.wsrep_sst_method": "mariabackup"},
    bad={"setting.wsrep_on": "ON", "setting.wsrep_sst_method": "rsync"},
)
