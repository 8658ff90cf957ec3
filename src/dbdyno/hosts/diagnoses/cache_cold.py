"""cache-cold: after a start the server's cache has to fill again

What is seen: the server was started; from then on many of the pages that are asked for are not in its cache, fewer
from minute to minute, and throughput climbs as they become fewer.

Why it happens: a cache is lost with the process. Every page in use has to be read once more, one by one, as statements
happen to ask for it.

Remedy: let the server save which pages it holds and read them again at its start (in order, far quicker than at
random); send it clients only after that; start it at a quiet time.

Cost: reads at the start that statements have to share the disk with; a file of page numbers.

Rivals: a cache that is too small (then misses do not become fewer); recovery of the log (then the server does not
answer yet); a load that grows by itself (then misses do not become fewer).

References: an article on the basics of performance (Percona, 2023), on saving and loading the cache; an article on
databases on ZFS (Percona, 2021), in which a start took a quarter of an hour to warm up.
"""

from __future__ import annotations

from dataclasses import dataclass

from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.example import Example
from dbdyno.model.facts import MissingFact
from dbdyno.model.finding import Finding, Fix, Needs, Severity
from dbdyno.model.recording import Recording, Series, Stall
from dbdyno.model.units import seconds_text

_AROUND_S = 30.0
_WARMING_S_MAX = 900.0
"""What the article saw; later changes have other causes."""
_WINDOW_S_MIN = 15.0
_MISSES = 0.02
"""Share of the pages that were not in the cache, just after the start."""
_FEWER = 2.0
_CLIMB = 1.2


@dataclass(frozen=True)
class _Third:
    """A third of the time after the start."""

    miss_share: float
    per_s: float


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    recording.role("server_started")
    hits, misses = recording.role("cache_hits"), recording.role("cache_misses")
    window = _window(recording, stall)
    if window is None:
        return None
    start_s, end_s = window
    step_s = (end_s - start_s) / 3
    edges = [(start_s + number * step_s, start_s + (number + 1) * step_s) for number in range(3)]
    first, second, last = (
        _Third(_miss_share(hits, misses, *edge), recording.throughput.between(*edge).mean()) for edge in edges
    )
    if first.miss_share < _MISSES or first.miss_share < _FEWER * last.miss_share or last.per_s < _CLIMB * first.per_s:
        return None
    if not first.miss_share >= second.miss_share >= last.miss_share:
        return None
    before = _before(hits, misses, start_s, stall)
    if before is not None and first.miss_share < _FEWER * before:
        return None  # It missed as much with a warm cache.
    return Finding(
        says=f"After the start at {start_s:.0f} s {first.miss_share:.1%} of the pages were not in the cache, "
        f"{last.miss_share:.1%} {seconds_text(end_s - start_s)} later; throughput climbed from {first.per_s:.0f} to "
        f"{last.per_s:.0f} a second.",
        why="The cache was lost with the process and fills as statements ask for pages.",
        severity=Severity.WARNING if stall is not None else Severity.ADVICE,
        evidence={
            "started_s": round(start_s, 1),
            "miss_share_first": round(first.miss_share, 4),
            "miss_share_last": round(last.miss_share, 4),
            "per_s_first": round(first.per_s),
            "per_s_last": round(last.per_s),
        },
        remedy="Save which pages the cache holds and read them at the start, before clients come.",
        fixes=(Fix(kind="manual", name="cache", value="saved and read again", needs=Needs.PERSON),),
        risk="Reads at the start.",
        verify="After the next start the share of misses is soon what it was before.",
        confidence=0.8 if before is not None else 0.65,
        ruled_out=(
            "a cache that is too small: misses became fewer with time",
            "a load that grows by itself: it would not make misses fewer",
        ),
        start_s=start_s,
        end_s=end_s,
        series=(misses.name, hits.name, "throughput"),
    )


def _window(recording: Recording, stall: Stall | None) -> tuple[float, float] | None:
    """From the start of the server to the stall's end, and on for as long as it takes to see whether misses become
    fewer; of the whole record, to the next start or until a cache that can be warmed is warm."""
    restarts = [event.t_s for event in recording.events if event.kind == "restart"]
    if stall is not None:
        inside = [t_s for t_s in restarts if stall.start_s - _AROUND_S <= t_s <= stall.end_s]
        start_s = max(inside, default=None)
        end_s = min(max(stall.end_s, (start_s or 0.0) + _WINDOW_S_MIN), recording.duration_s)
    else:
        start_s, end_s = max(restarts, default=None), recording.duration_s
    if start_s is None or end_s - start_s < _WINDOW_S_MIN:
        return None
    return start_s, min(end_s, start_s + _WARMING_S_MAX)


def _miss_share(hits: Series, misses: Series, start_s: float, end_s: float) -> float:
    missed = misses.between(start_s, end_s).total()
    asked = missed + hits.between(start_s, end_s).total()
    return missed / asked if asked > 0 else 0.0


def _before(hits: Series, misses: Series, start_s: float, stall: Stall | None) -> float | None:
    """Share of misses in the minute before the server went; None where the record does not reach back."""
    went_s = min(start_s, stall.start_s) if stall is not None else start_s
    try:
        return _miss_share(hits, misses, went_s - 60.0, went_s - 1.0)
    except MissingFact:
        return None


def _example(*, cold: bool) -> Example:
    """Started again at 62 s; misses fall from a fifth to nothing while throughput climbs, or stay where they were."""
    example = Example(stall=(60, 110), lowest_per_s=300)
    example.throughput.values[62:110] = [300 + 14 * second for second in range(48)]
    example.level("database.server_started", 1.7e9, role="server_started")
    example.event(62.0, "restart")
    example.level("database.hits", 20000, role="cache_hits")
    example.curve(
        "database.misses",
        lambda t: 100 + (5000 * (t > 62) * (1 - (t - 62) / 58).clip(0, 1) if cold else 0 * t),
        role="cache_misses",
    )
    return example


DIAGNOSIS = Diagnosis(
    id="cache-cold",
    title="After a start the server's cache has to fill again",
    check=check,
    source="An article on databases on ZFS (Percona, 2021)",
    bad=lambda: _example(cold=True),
    good=lambda: _example(cold=False),
)
