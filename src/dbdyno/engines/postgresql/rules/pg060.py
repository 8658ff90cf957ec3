"""PG060: A replication slot holds the log

What it checks: No slot holds more than 4 GiB of log, and none has lost its log.

Why it matters: The server keeps all log that the slot's reader has not confirmed, until the disk is full and the
server stops. It also keeps dead rows of catalogues.

Remedy: Start the reader, or drop the slot with pg_drop_replication_slot.

Risk: A replica or subscriber whose slot is dropped must be built anew.

References: PostgreSQL 15 manual, section 27.2.6 and pg_replication_slots (2022)
"""

from dbdyno.engines.postgresql.memory import GIB
from dbdyno.engines.postgresql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule

MUCH_BYTES = 4 * GIB


def check(facts: Facts) -> Finding | None:
    held, lost = facts.number("replication.slot_retained_bytes_max"), facts.number("replication.slots_lost_count")
    idle, examples = facts.number("replication.slots_inactive_count"), facts.text("replication.slots_inactive_examples")
    if held < MUCH_BYTES and not lost:
        return None
    return Finding(
        says=f"A replication slot holds {held / GIB:.1f} GiB of log; {idle:.0f} slots are inactive ({examples}), "
        f"{lost:.0f} have lost their log.",
        severity=Severity.CRITICAL if held >= 4 * MUCH_BYTES or lost else Severity.WARNING,
        fixes=(by_hand("slot", "SELECT pg_drop_replication_slot('…');"),),
    )


RULE = Rule(
    id="PG060",
    title="No replication slot holds much log",
    topic="replication",
    check=check,
    source="PostgreSQL 15 manual, 27.2.6 (2022)",
    good={
        "replication.slot_retained_bytes_max": 0,
        "replication.slots_lost_count": 0,
        "replication.slots_inactive_count": 0,
        "replication.slots_inactive_examples": "",
    },
    bad={
        "replication.slot_retained_bytes_max": 30000000000.0,
        "replication.slots_lost_count": 0,
        "replication.slots_inactive_count": 1,
        "replication.slots_inactive_examples": "old_replica",
    },
)
