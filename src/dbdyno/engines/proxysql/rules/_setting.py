"""The change of a variable as a fix: in memory, in force, and on disk."""

from __future__ import annotations

from dbdyno.engines.proxysql import tables
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Fix, Needs
from dbdyno.model.knob import Value


def setting(facts: Facts, name: str, value: Value) -> Fix:
    """The fix that gives a variable another value."""
    before, kind = facts.text(f"setting.{name}"), tables.kind_of(name)
    load = f"LOAD {kind} VARIABLES TO RUNTIME; SAVE {kind} VARIABLES TO DISK;"
    return Fix(
        kind="setting",
        name=name,
        value=str(value),
        before=before,
        live=f"{tables.statement_of(name, str(value))}; {load}",
        file="the program's own database",
        needs=Needs.PERSON if name in tables.WAITS_FOR_RESTART else Needs.NOTHING,
        undo=f"{tables.statement_of(name, before)}; {load}",
    )


def by_hand(name: str, command: str, *, undo: str = "") -> Fix:
    """The fix that a person has to look at first: a statement as it would be typed."""
    return Fix(kind="statement", name=name, live=command, needs=Needs.PERSON, undo=undo)
