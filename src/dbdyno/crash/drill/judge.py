"""Holds what a server has after a drill against what the load was told: pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dbdyno.crash.acks import History
from dbdyno.crash.check import Dataset, Rows, judge
from dbdyno.model.crash import Damage
from dbdyno.model.drill import Check
from dbdyno.model.finding import Verdict

BEFORE, AFTER = "before", "after"
"""Markers on both sides of the moment that a recovery is to stop at."""


@dataclass(frozen=True)
class Window:
    """When a moment was noted (CLOCK_MONOTONIC): not before `open_s`, not after `closed_s`."""

    open_s: float
    closed_s: float


@dataclass(frozen=True)
class Found:
    """What came back, in figures and as checks."""

    checks: tuple[Check, ...]
    damages: tuple[Damage, ...]
    required: int
    found: int
    between: int
    """Transactions that were under way when the moment was noted."""
    lost: int
    lost_oldest_ms: float | None


def check_of(name: str, bad: bool, says: str) -> Check:
    return Check(name=name, verdict=Verdict.FAIL if bad else Verdict.PASS, says=says)


def judge_restore(history: History, dataset: Dataset, rows: Rows, markers: Sequence[str], window: Window) -> Found:
    """Whether the recovery stopped where it should: what was acknowledged before the moment is there, what was sent
    after it is not; what was under way may be either. What is there is whole."""
    there = judge(history, dataset, rows, flush=None, time_s=window.open_s)
    late = sorted(
        (history[key].sent_s - window.closed_s, key)
        for key in {(row[0], row[1]) for row in rows.journal} & history.keys()
        if history[key].sent_s > window.closed_s
    )
    between = sum(
        sent.sent_s <= window.closed_s and (sent.acked_flush is None or sent.acked_s > window.open_s)
        for sent in history.values()
    )
    last_s = max((seconds for seconds, _ in late), default=0.0)
    checks = (
        check_of("marker before", BEFORE not in markers, _is_there("the marker of before", BEFORE in markers)),
        check_of("marker after", AFTER in markers, _is_there("the marker of after", AFTER in markers)),
        check_of("acknowledged before", bool(there.lost), f"{there.required} were, {there.lost} of them are missing"),
        check_of(
            "sent after",
            bool(late),
            f"{len(late)} are there, sent up to {last_s * 1e3:.0f} ms after the moment" if late else "none is there",
        ),
        _whole(there.damages),
    )
    return Found(
        checks=checks,
        damages=there.damages,
        required=there.required,
        found=len(rows.journal),
        between=between,
        lost=there.lost,
        lost_oldest_ms=there.lost_oldest_ms,
    )


def judge_failover(
    history: History, dataset: Dataset, rows: Rows, *, died_s: float, loss_ms_max: float | None
) -> Found:
    """What the promoted replica lacks of what the primary had acknowledged when it died. `loss_ms_max` None: nothing
    may be missing; else what is missing must be a tail that is not older."""
    # An acknowledgement that was read a little later had been sent before.
    end_s = max([died_s, *(sent.acked_s for sent in history.values())])
    there = judge(history, dataset, rows, flush=None, time_s=end_s)
    oldest_ms = there.lost_oldest_ms
    if not there.lost:
        lost = check_of("lost", False, f"none of {there.required} that were acknowledged")
    else:
        assert oldest_ms is not None
        says = f"{there.lost} of {there.required} that were acknowledged, the oldest {oldest_ms:.0f} ms before the end"
        allowed = "nothing may be lost" if loss_ms_max is None else f"allowed are {loss_ms_max:.0f} ms"
        lost = check_of("lost", loss_ms_max is None or oldest_ms > loss_ms_max, f"{says}; {allowed}")
    return Found(
        checks=(lost, _whole(there.damages)),
        damages=there.damages,
        required=there.required,
        found=len(rows.journal),
        between=sum(sent.acked_flush is None for sent in history.values()),
        lost=there.lost,
        lost_oldest_ms=oldest_ms,
    )


def _whole(damages: Iterable[Damage]) -> Check:
    bad = [damage for damage in damages if damage.kind.corrupts]
    says = "no transaction is torn, no hole, the invariants hold"
    return check_of("whole", bool(bad), f"{len(bad)} damages, the first: {bad[0].says}" if bad else says)


def _is_there(what: str, there: bool) -> str:
    return f"{what} is there" if there else f"{what} is not there"


def verdict_of(checks: Iterable[Check]) -> Verdict:
    """Fail when one fails, pass when there are some and all pass."""
    verdicts = [check.verdict for check in checks]
    if Verdict.FAIL in verdicts:
        return Verdict.FAIL
    return Verdict.PASS if verdicts and Verdict.UNKNOWN not in verdicts else Verdict.UNKNOWN
