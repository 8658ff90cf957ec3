"""MONGO024: a checkpoint takes longer than a minute

What it checks: the longest checkpoint since the start took less than 60 s.

Why it matters: checkpoints begin 60 s after the last one: one that lasts longer means that writes exceed the disk,
and the journal grows.

Remedy: Look at the disk's write latency and at dirty bytes of the cache; spread the writes, or give it more
operations a second.

Risk: none by looking.

References: WiredTiger Logging and Checkpoint Mechanism (Percona, 2023): it may lag when the disk is saturated
"""

from dbdyno.engines.wiredtiger.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    names = (
        "status.wiredTiger.transaction.transaction_checkpoint_max_time_msecs",
        "status.wiredTiger.checkpoint.max_time_msecs",
    )
    name = next((one for one in names if facts.has(one)), names[0])
    longest = facts.number(name) / 1e3
    if longest < 60:
        return None
    return Finding(
        says=f"A checkpoint took {longest:.0f} s; the next one is due after 60 s.",
        fixes=(by_hand("checkpoint", "db.serverStatus().wiredTiger.transaction"),),
    )


RULE = Rule(
    id="MONGO024",
    title="Checkpoints are done within their minute",
    topic="disk",
    check=check,
    source="WiredTiger Logging and Checkpoint Mechanism (Percona, 2023)",
    good={"status.wiredTiger.transaction.transaction_checkpoint_max_time_msecs": 4200},
    bad={"status.wiredTiger.transaction.transaction_checkpoint_max_time_msecs": 91000},
)
