"""MONGO006: the storage engine forgets

What it checks: the storage engine is no in-memory one.

Why it matters: all data is gone when the process ends; that is right for caches and sessions only.

Remedy: Keep it where the data can be made again; else move to wiredTiger on an empty folder, member by member.

Risk: the folder of one engine cannot be used by another; reads and writes reach the disk.

References: Percona Memory Engine for MongoDB (Percona, 2016); Introducing Percona Memory Engine for MongoDB (Percona,
2016)
"""

from dbdyno.engines.wiredtiger.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.knob import Level
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    engine = facts.text("server.storage_engine")
    if engine not in ("inMemory", "ephemeralForTest", "devnull"):
        return None
    return Finding(
        says=f"The storage engine is {engine}: nothing survives the end of the process.",
        severity=Severity.CRITICAL,
        durability=Level.L3,
        fixes=(by_hand("storage.engine", "// sync a new member with storage.engine: wiredTiger from this one"),),
    )


RULE = Rule(
    id="MONGO006",
    title="The storage engine keeps what it is given",
    topic="durability",
    check=check,
    source="Percona Memory Engine for MongoDB (Percona, 2016)",
    good={"server.storage_engine": "wiredTiger"},
    bad={"server.storage_engine": "inMemory"},
)
