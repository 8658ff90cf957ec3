"""VK027: The last snapshot is old

What it checks: where snapshots are on and something changed, the last one is less than a day old.

Why it matters: the moments of `save` ask for more changes than come, so that backups taken of the file are old.

Remedy: a moment with one change (3600 1), or BGSAVE from a timer.

Risk: a child that writes once more.

References: Valkey manual, Persistence (2024); "Valkey/Redis Configurations and Persistent Setting of the Key
Parameters" (2024).
"""

from dbdyno.engines.valkey.rules._setting import by_hand, snapshots
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule

AGE_S_MAX = 86_400


def check(facts: Facts) -> Finding | None:
    moments, changes = snapshots(facts), facts.number("status.rdb_changes_since_last_save")
    age_s = facts.number("check.unix_s") - facts.number("status.rdb_last_save_time")
    if not changes or age_s <= AGE_S_MAX:
        return None
    return Finding(
        says=f"The last snapshot is {age_s / 3600:.0f} h old, with {changes:.0f} changes since (save {moments}).",
        fixes=(by_hand("BGSAVE", 'BGSAVE; CONFIG SET save "3600 1 300 100 60 10000"'),),
    )


RULE = Rule(
    id="VK027",
    title="The last snapshot is recent",
    topic="durability",
    check=check,
    source="Valkey manual, Persistence (2024)",
    applies=lambda facts: snapshots(facts) != "",
    good={
        "setting.save": "3600 1",
        "status.rdb_changes_since_last_save": 5,
        "status.rdb_last_save_time": 1700000000,
        "check.unix_s": 1700000100.0,
    },
    bad={
        "setting.save": "3600 1",
        "status.rdb_changes_since_last_save": 5,
        "status.rdb_last_save_time": 1700000000,
        "check.unix_s": 1700999999.0,
    },
)
