"""MONGO058: expired documents are not deleted

What it checks: ttlMonitorEnabled is true.

Why it matters: collections with a TTL index grow without end, and keep what should be gone by law.

Remedy: Switch it on at a quiet time.

Risk: the backlog is deleted at once, which loads the disk and the oplog.

References: MongoDB manual, TTL Indexes (2024)
"""

from dbdyno.engines.wiredtiger.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    if facts.flag("setting.setParameter.ttlMonitorEnabled"):
        return None
    return Finding(
        says="ttlMonitorEnabled is false: documents that have expired stay.",
        fixes=(setting(facts, "setParameter.ttlMonitorEnabled", "true"),),
    )


RULE = Rule(
    id="MONGO058",
    title="Expired documents are deleted",
    topic="operations",
    check=check,
    source="MongoDB manual, TTL Indexes (2024)",
    good={"setting.setParameter.ttlMonitorEnabled": "true"},
    bad={"setting.setParameter.ttlMonitorEnabled": "false"},
)
