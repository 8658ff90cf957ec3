"""MONGO021: the number of tickets was fixed by hand

What it checks: since 7.0, storageEngineConcurrentReadTransactions and -WriteTransactions are not set by anybody.

Why it matters: setting one of them switches off the server's own adaptation to the load.

Remedy: Take them out of setParameter, unless a measurement chose them.

Risk: the throughput may change either way: measure.

References: MongoDB manual, storageEngineConcurrentReadTransactions (2024)
"""

from dbdyno.engines.wiredtiger.rules._setting import setting, version
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    mode = facts.text("setting.setParameter.storageEngineConcurrencyAdjustmentAlgorithm")
    if mode != "fixedConcurrentTransactions":
        return None
    return Finding(
        says="The number of tickets is fixed: the server does not adapt it to the load.",
        severity=Severity.ADVICE,
        fixes=(setting(facts, "setParameter.storageEngineConcurrencyAdjustmentAlgorithm", "throughputProbing"),),
    )


RULE = Rule(
    id="MONGO021",
    title="The server chooses the number of tickets",
    topic="concurrency",
    check=check,
    source="MongoDB manual, Server Parameters (2024)",
    applies=lambda facts: version(facts) >= 70000,
    good={
        "server.version": 70012,
        "setting.setParameter.storageEngineConcurrencyAdjustmentAlgorithm": "throughputProbing",
    },
    bad={
        "server.version": 70012,
        "setting.setParameter.storageEngineConcurrencyAdjustmentAlgorithm": "fixedConcurrentTransactions",
    },
)
