"""PG013: Recovery or sessions pass over what must hold

What it checks: ignore_invalid_pages and ignore_system_indexes are off, session_replication_role is origin or local,
and recovery_init_sync_method is fsync or syncfs.

Why it matters: The first lets recovery go on over pages that are gone, the second reads past a damaged catalogue. With
session_replication_role = replica foreign keys and triggers do nothing. With a recovery that does not begin from what
is on disk, the next loss of power takes what seemed recovered.

Remedy: The values that the server ships with; who needs one for a repair or a load sets it for that session alone.

Risk: A broken cluster stops again where it was let through.

References: PostgreSQL 15 manual, sections 20.11, 20.14 and 20.17 (2022).
"""

from dbdyno.engines.postgresql.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.knob import Level
from dbdyno.model.rule import Rule

KEPT = {
    "ignore_invalid_pages": (130000, ("off",)),
    "ignore_system_indexes": (0, ("off",)),
    "session_replication_role": (0, ("origin", "local")),
    "recovery_init_sync_method": (140000, ("fsync", "syncfs")),
}
"""The first version that has the setting, and its values that keep everything, the default first."""


def check(facts: Facts) -> Finding | None:
    version = facts.number("server.version")
    wrong = [
        name for name, (since, kept) in KEPT.items() if version >= since and facts.text(f"setting.{name}") not in kept
    ]
    if not wrong:
        return None
    return Finding(
        says=", ".join(f"{name} = {facts.value(f'setting.{name}')}" for name in wrong) + ": damage passes in silence.",
        severity=Severity.CRITICAL,
        durability=Level.L3,
        fixes=tuple(setting(facts, name, KEPT[name][1][0]) for name in wrong),
    )


_GOOD = {"server.version": 150000} | {f"setting.{name}": kept[0] for name, (_, kept) in KEPT.items()}
RULE = Rule(
    id="PG013",
    title="Recovery and sessions pass over nothing",
    topic="durability",
    check=check,
    source="PostgreSQL 15 manual, 20.17 (2022)",
    good=_GOOD,
    bad=_GOOD | {"setting.session_replication_role": "replica"},
)
