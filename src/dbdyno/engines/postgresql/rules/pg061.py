"""PG061: Slots may fill the disk

What it checks: Where there are replication slots, max_slot_wal_keep_size bounds what they hold.

Why it matters: Without a bound a reader that stays away fills the disk, and the server stops.

Remedy: A bound that the disk can hold beside the data, here 64 GiB; less on a small disk.

Risk: A reader that stays away for longer must be built anew: choose between the server and the replica.

References: PostgreSQL 15 manual, section 20.6 (2022)
"""

from dbdyno.engines.postgresql.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule

BOUND_MIB = 65536


def check(facts: Facts) -> Finding | None:
    slots, bound = facts.number("replication.slots_count"), facts.number("setting.max_slot_wal_keep_size")
    if not slots or bound >= 0:
        return None
    return Finding(
        says=f"{slots:.0f} replication slots may hold log without a bound.",
        fixes=(setting(facts, "max_slot_wal_keep_size", BOUND_MIB),),
    )


RULE = Rule(
    id="PG061",
    title="What slots may hold is bounded",
    topic="replication",
    check=check,
    source="PostgreSQL 15 manual, 20.6 (2022)",
    good={"replication.slots_count": 0, "setting.max_slot_wal_keep_size": -1},
    bad={"replication.slots_count": 2, "setting.max_slot_wal_keep_size": -1},
)
