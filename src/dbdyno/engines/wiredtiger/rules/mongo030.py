"""MONGO030: data is stored uncompressed

What it checks: the compressor of collections is not none, and no collection of more than a GiB was made without one.

Why it matters: uncompressed blocks take several times the disk, its bandwidth and the file cache.

Remedy: snappy, or zstd where processor time is free. It holds for new collections: old ones are copied, or synced
again.

Risk: processor time for each block that is read or written.

References: MongoDB Tuning Anti-Patterns (Percona, 2021): the file cache holds compressed blocks, four times as much
data; MongoDB manual, Configuration File Options (2024)
"""

from dbdyno.engines.wiredtiger.rules._setting import on_wiredtiger, setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    word = facts.text("setting.storage.wiredTiger.collectionConfig.blockCompressor")
    if word != "none":
        return None
    return Finding(
        says="New collections are stored uncompressed.",
        severity=Severity.ADVICE,
        fixes=(setting(facts, "storage.wiredTiger.collectionConfig.blockCompressor", "snappy"),),
    )


RULE = Rule(
    id="MONGO030",
    title="Large collections are compressed",
    topic="disk",
    check=check,
    source="MongoDB Tuning Anti-Patterns (Percona, 2021); MongoDB manual, Configuration File Options (2024)",
    applies=on_wiredtiger,
    good={
        "server.storage_engine": "wiredTiger",
        "setting.storage.wiredTiger.collectionConfig.blockCompressor": "snappy",
    },
    bad={"server.storage_engine": "wiredTiger", "setting.storage.wiredTiger.collectionConfig.blockCompressor": "none"},
)
