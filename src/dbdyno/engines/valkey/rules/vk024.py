"""VK024: Writes go on when snapshots fail

What it checks: stop-writes-on-bgsave-error is yes.

Why it matters: a full disk stays unnoticed until the day on which the snapshot is needed.

Remedy: stop-writes-on-bgsave-error yes; no only where the failure raises an alarm of its own.

Risk: while snapshots fail, writes are refused: mend a failing one first.

References: valkey.conf 8.0, stop-writes-on-bgsave-error (2024).
"""

from dbdyno.engines.valkey.rules._setting import by_hand, setting, snapshots
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    stops, last = facts.flag("setting.stop-writes-on-bgsave-error"), facts.text("status.rdb_last_bgsave_status")
    if stops:
        return None
    fix = setting(facts, "stop-writes-on-bgsave-error", "yes")
    return Finding(
        says="Writes go on when snapshots fail (stop-writes-on-bgsave-error is no).",
        fixes=(fix if last == "ok" else by_hand(fix.name, f"mend the snapshot first, then {fix.live}"),),
    )


RULE = Rule(
    id="VK024",
    title="A failing snapshot is noticed",
    topic="durability",
    check=check,
    source="valkey.conf 8.0, stop-writes-on-bgsave-error (2024)",
    applies=lambda facts: snapshots(facts) != "",
    good={
        "setting.save": "3600 1",
        "setting.stop-writes-on-bgsave-error": "yes",
        "status.rdb_last_bgsave_status": "ok",
    },
    bad={"setting.save": "3600 1", "setting.stop-writes-on-bgsave-error": "no", "status.rdb_last_bgsave_status": "ok"},
)
