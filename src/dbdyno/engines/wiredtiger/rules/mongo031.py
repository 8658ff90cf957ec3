"""MONGO031: much disk is held that collections do not use

What it checks: no collection of more than 1 GiB has more than 30 % of its file free for reuse.

Why it matters: WiredTiger reuses space inside a file and does not give it back; backups, syncs and the file system
carry it along.

Remedy: With a backup at hand: compact, on secondaries first and on the primary last after it stepped down, node by
node; or sync a member again. Run it again where nothing shrank. Not through mongos.

Risk: before 4.4 compact blocks the whole database; since 4.4 only changes of collections and indexes. A resync must
fit into the oplog's window.

References: How to Reclaim Disk Space in Percona Server for MongoDB (Percona, 2022)
"""

from dbdyno.engines.wiredtiger.rules._setting import GIB, by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    count, examples = facts.number("data.fragmented_count"), facts.text("data.fragmented_examples")
    free, stored = facts.number("data.reusable_bytes"), facts.number("data.storage_bytes")
    if not count:
        return None
    return Finding(
        says=f"{count:.0f} collections could give back disk: {examples}. In all {free / GIB:.1f} of "
        f"{stored / GIB:.1f} GiB are free inside files.",
        severity=Severity.ADVICE,
        fixes=(by_hand("compact", "db.runCommand({compact: 'COLLECTION'}) // on each member, secondaries first"),),
    )


RULE = Rule(
    id="MONGO031",
    title="Free space in files is modest",
    topic="disk",
    check=check,
    source="How to Reclaim Disk Space in Percona Server for MongoDB (Percona, 2022)",
    good={
        "data.fragmented_count": 0,
        "data.fragmented_examples": "",
        "data.reusable_bytes": 1000000,
        "data.storage_bytes": 50000000000,
    },
    bad={
        "data.fragmented_count": 1,
        "data.fragmented_examples": "shop.events (22.0 of 40.0 GiB)",
        "data.reusable_bytes": 24000000000,
        "data.storage_bytes": 50000000000,
    },
)
