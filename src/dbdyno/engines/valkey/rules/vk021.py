"""VK021: Only snapshots are kept

What it checks: a server with snapshots has the append-only file too.

Why it matters: what came after the last snapshot is lost with the process, not only with the power: minutes, up to an
hour.

Remedy: appendonly yes for a store (everysec: L2, always: L3). A cache with snapshots for a warm start is well as it
is.

Risk: the file is written all the time and rewritten by a child; CONFIG SET appendonly yes starts with such a rewrite.
Set it live first: a restart with appendonly yes and no such file would begin empty.

References: Valkey manual, Persistence (2024).
"""

from dbdyno.engines.valkey.rules._setting import by_hand, snapshots
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.knob import Level
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    moments = snapshots(facts)
    if facts.flag("setting.appendonly"):
        return None
    return Finding(
        says=f"There are snapshots (save {moments}) and no append-only file.",
        severity=Severity.ADVICE,
        fixes=(by_hand("appendonly", "CONFIG SET appendonly yes; CONFIG REWRITE", undo="CONFIG SET appendonly no"),),
        durability=Level.L2,
    )


RULE = Rule(
    id="VK021",
    title="Changes are kept between snapshots",
    topic="durability",
    check=check,
    source="Valkey manual, Persistence (2024)",
    applies=lambda facts: snapshots(facts) != "",
    good={"setting.save": "3600 1", "setting.appendonly": "yes"},
    bad={"setting.save": "3600 1", "setting.appendonly": "no"},
)
