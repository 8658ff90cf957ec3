"""slot-holds-log: a replication slot without a consumer keeps the log

What is seen: a slot is not active, and the log kept for it grows with every byte written, beyond max_wal_size.

Why it happens: a slot keeps all log that its consumer has not confirmed. When the consumer is gone for good the log is
kept until the disk is full.

Remedy: bring the consumer back, or drop the slot; max_slot_wal_keep_size bounds what any slot may keep.

Cost: a consumer whose slot was dropped or has lost its log must be built anew.

Rivals: a consumer that is connected and only slow; archiving that is behind.

References: PostgreSQL 15 manual, 27.2.6 "Replication Slots" and 20.6.1 (2022).
"""

from __future__ import annotations

from dbdyno.engines.postgresql.diagnoses._settings import bytes_of, power_of_two, setting
from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.example import Example
from dbdyno.model.finding import Finding, Fix, Needs, Severity
from dbdyno.model.knob import Level
from dbdyno.model.recording import Recording, Stall
from dbdyno.model.units import bytes_text

_GROWS = 0.5
"""Share of the log written meanwhile by which a slot without a consumer grows."""


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    if stall is not None:
        return None
    recording.series("slots", "retained_bytes")
    limit_bytes = bytes_of(recording.facts, "max_wal_size")
    keep = recording.facts.number("setting.max_slot_wal_keep_size")
    found: list[tuple[float, float, str]] = []
    for slot in recording.keys("slots"):
        retained = recording.series("slots", "retained_bytes", slot)
        asleep = recording.series("slots", "active", slot).max() == 0
        written = recording.role("wal_bytes").between(float(retained.t_s[0]), float(retained.t_s[-1])).total()
        if asleep and retained.last() > limit_bytes and retained.rise() >= _GROWS * written:
            found.append((retained.last(), retained.rise(), slot))
    if not found:
        return None
    kept, grown, slot = max(found)
    lost = any(state == "lost" for _, state in recording.texts("slots", "state", slot))
    keep_mb = max(1024, power_of_two(2 * limit_bytes / (1 << 20)))
    return Finding(
        says=f"The slot {slot!r} has no consumer and keeps {bytes_text(kept)} of log, {bytes_text(grown)} more than at "
        "the record's start.",
        why="Nothing bounds what a slot may keep." if keep < 0 else "max_slot_wal_keep_size will cut it off.",
        severity=Severity.CRITICAL if lost else Severity.WARNING,
        evidence={"slot": slot, "retained_bytes": round(kept), "grown_bytes": round(grown), "slots_found": len(found)},
        remedy="Bring its consumer back or drop the slot; bound what slots may keep.",
        fixes=(
            Fix(
                kind="statement",
                name="pg_drop_replication_slot",
                value=slot,
                live=f"SELECT pg_drop_replication_slot('{slot}');",
                needs=Needs.PERSON,
            ),
            *((setting(recording.facts, "max_slot_wal_keep_size", keep_mb),) if keep < 0 else ()),
        ),
        durability=Level.L3,
        risk="A consumer whose slot is dropped or cut off must be built anew.",
        verify="slots.retained_bytes no longer grows.",
        confidence=0.95,
        ruled_out=("a consumer that is only slow: none was connected",),
        start_s=0.0,
        end_s=recording.duration_s,
        series=(f"slots.retained_bytes/{slot}", f"slots.active/{slot}"),
    )


def _example(*, asleep: bool) -> Example:
    """A slot keeps 2 GiB and more each second; without a consumer, or with one."""
    example = Example(stall=None)
    example.curve("slots.retained_bytes/old_replica", lambda t: (2 << 30) + 1e7 * t, unit="B")
    example.level("slots.active/old_replica", 0 if asleep else 1)
    example.level("wal.position_bytes", 1e7, role="wal_bytes")
    example.words("slots.state/old_replica", "extended")
    example.fact("setting.max_wal_size", 1024, unit="MB")
    example.fact("setting.max_slot_wal_keep_size", -1, unit="MB")
    return example


DIAGNOSIS = Diagnosis(
    id="slot-holds-log",
    title="A replication slot without a consumer keeps the log",
    check=check,
    source="PostgreSQL 15 manual, 27.2.6 Replication Slots (2022)",
    bad=lambda: _example(asleep=True),
    good=lambda: _example(asleep=False),
)
