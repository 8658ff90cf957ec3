"""A study's arms: the baselines and the winner, each with what was measured of it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from dbdyno.model.knob import Value
from dbdyno.model.trial import StudyOutcome, Trial, TrialKind, TrialStatus
from dbdyno.report import figures
from dbdyno.report.shapes import DEFAULT_COLOR, WINNER_COLOR, Arm, Bar, BarCard, Table

WINNER = "winner"


SEARCHED = (TrialKind.BASELINE, TrialKind.SEARCH, TrialKind.REPEAT)
"""Kinds among which the best is looked for: no anchors, and nothing of the confirmation."""


def believed(trials: Iterable[Trial]) -> list[Trial]:
    """Measured to the end, and not doubted."""
    return [one for one in trials if one.status == TrialStatus.KEPT]


def geometric(values: Iterable[float | None]) -> float | None:
    """Geometric mean of what is known and positive; None of nothing."""
    logs = [math.log(value) for value in values if value is not None and value > 0]
    return math.exp(sum(logs) / len(logs)) if logs else None


def arithmetic(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def best_search(trials: Sequence[Trial]) -> Trial | None:
    """The believed trial with the highest score that is neither an anchor nor a confirmation."""
    scored = [one for one in believed(trials) if one.kind in SEARCHED and one.score is not None]
    return max(scored, key=lambda one: one.score or 0.0, default=None)


def names_in_order(trials: Sequence[Trial]) -> list[str]:
    """Baselines as they came, then other confirmed arms, the winner last."""
    names: list[str] = []
    for trial in trials:
        if trial.kind in (TrialKind.BASELINE, TrialKind.CONFIRM) and trial.name and trial.name not in names:
            names.append(trial.name)
    return [name for name in names if name != WINNER] + ([WINNER] if WINNER in names else [])


def colors(names: Sequence[str]) -> dict[str, int]:
    """Grey for the first (the server's default), blue for the winner, the rest in the palette's order."""
    free = iter((DEFAULT_COLOR, 2, 3, 4, 7, 5))
    return {name: WINNER_COLOR if name == WINNER else next(free, 5) for name in names}


def arms(trials: Sequence[Trial], outcome: StudyOutcome | None) -> list[Arm]:
    """Figures of the confirmation where there are any: both arms then saw the same machine. Else of the search."""
    names = names_in_order(trials)
    palette = colors(names)
    found = []
    for name in names:
        mine = [one for one in trials if one.name == name]
        confirmed = believed(one for one in mine if one.kind == TrialKind.CONFIRM)
        base = believed(one for one in mine if one.kind in (TrialKind.BASELINE, TrialKind.REPEAT))
        used = confirmed or base
        origin = f"confirmation, {len(used)} runs" if confirmed else f"search, {_runs(len(used))}"
        found.append(arm(name, palette[name], used, origin if used else "no believed run", bool(confirmed)))
    if WINNER not in names:
        wanted = outcome.winner_trial if outcome is not None else None
        best = next((one for one in trials if one.number == wanted), None) or best_search(trials)
        if best is not None and best.name not in names:
            found.append(arm("best so far", WINNER_COLOR, [best], f"trial {best.number}, not confirmed", False))
    return found


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"


def arm(name: str, color: int, used: Sequence[Trial], origin: str, confirmed: bool) -> Arm:
    return Arm(
        name=name,
        color=color,
        origin=origin,
        runs=len(used),
        confirmed=confirmed,
        tps=geometric(one.tps for one in used),
        tps_charged=geometric(one.tps_charged for one in used),
        rate_p99_ms=geometric(one.rate_p99_ms for one in used),
        write_bytes_per_transaction=geometric(one.write_bytes_per_transaction for one in used),
        wal_bytes_per_transaction=geometric(one.wal_bytes_per_transaction for one in used),
        drain_s=arithmetic(one.drain_s for one in used),
    )


def bar_cards(found: Sequence[Arm]) -> list[BarCard]:
    """Side by side: throughput (charged, the plain figure as a shadow behind), p99 at a fixed rate, bytes written."""
    cards = [
        _card(
            "Throughput, charged",
            "transactions per second after paying for deferred writes; the pale part was deferred. More is better.",
            [(one, one.tps_charged, one.tps, figures.number(one.tps_charged)) for one in found],
        ),
        _card(
            "99th percentile at a fixed rate",
            "response time, milliseconds, the same arrivals for every configuration. Less is better.",
            [(one, one.rate_p99_ms, None, figures.milliseconds(one.rate_p99_ms)) for one in found],
        ),
        _card(
            "Data written",
            "bytes written to the disk per transaction. Less is better.",
            [
                (one, one.write_bytes_per_transaction, None, figures.size(one.write_bytes_per_transaction))
                for one in found
            ],
        ),
        _card(
            "Log written",
            "bytes of write-ahead log per transaction. Less is better.",
            [(one, one.wal_bytes_per_transaction, None, figures.size(one.wal_bytes_per_transaction)) for one in found],
        ),
    ]
    return [card for card in cards if card is not None]


def _card(title: str, says: str, rows: list[tuple[Arm, float | None, float | None, str]]) -> BarCard | None:
    top = max((value for _, main, ghost, _ in rows for value in (main, ghost) if value is not None), default=0.0)
    if top <= 0:
        return None
    bars = [
        Bar(
            who=one.name,
            color=one.color,
            value=text,
            fraction=round((main or 0.0) / top, 4),
            ghost=None if ghost is None else round(ghost / top, 4),
            strong=one.color == WINNER_COLOR,
            hint=one.origin,
        )
        for one, main, ghost, text in rows
    ]
    return BarCard(title=title, says=says, bars=bars)


def debt_table(found: Sequence[Arm]) -> list[Table]:
    """What each configuration had put off when its measurement ended."""
    rows = []
    for one in found:
        if one.tps is None or one.tps_charged is None or one.drain_s is None:
            continue
        taken = one.tps_charged / one.tps - 1 if one.tps else None
        rows.append(
            [
                one.name,
                figures.number(one.tps),
                figures.seconds(one.drain_s),
                figures.percent(taken, signed=True),
                figures.number(one.tps_charged),
            ]
        )
    if not rows:
        return []
    heads = ["configuration", "throughput as seen, tps", "time to write what was deferred", "charge", "charged, tps"]
    return [Table(title="Write debt", heads=heads, rows=rows, numeric=[False, True, True, True, True])]


def differences(before: dict[str, Value], after: dict[str, Value]) -> list[tuple[str, str, str]]:
    """Settings that differ, in the order of the new configuration."""
    return [
        (name, figures_of(before.get(name)), figures_of(value))
        for name, value in after.items()
        if before.get(name) != value
    ]


def figures_of(value: Value | None) -> str:
    """A setting as it would be typed; whole floats without their point."""
    if value is None:
        return "server's default"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
