"""What the diagnoses of this folder share: how often the store held writers back, and for what."""

from __future__ import annotations

from dataclasses import dataclass

from dbdyno.model.example import Example
from dbdyno.model.facts import Facts, MissingFact
from dbdyno.model.finding import Finding, Fix, Needs, Severity
from dbdyno.model.knob import Level
from dbdyno.model.recording import Recording, Series, Stall

HELD_MIN = 0.05
"""A stall in which writers were held back for a smaller part of the time has another cause."""
_STOOD = 0.05
"""With less than this share of the usual throughput, writers stood still."""
_LATE_S = 2.0
REASONS = {
    "l0": ("l0_file_count_limit", "locked_l0_file_count_limit"),
    "compaction": ("pending_compaction_limit",),
    "memtable": ("memtable_limit",),
}
"""By what the writers were held back: the server's counters `rocksdb_stall_<name>_slowdowns` and `…_stops`."""


@dataclass(frozen=True)
class Held:
    """How much the store held writers back for one reason."""

    reason: str
    slowdowns: float
    stops: float
    share: float
    """Of the time in which some writer was held back; above 1 when several were at once."""


def held_back(recording: Recording, stall: Stall | None, reason: str) -> Held | None:
    """Whether this reason held writers back more often than any other, and for a good part of the stall."""
    if stall is None and recording.stalls:
        return None
    slowdowns, stops = events(recording, reason, stall)
    most = max(sum(events(recording, one, stall)) for one in REASONS)
    if slowdowns + stops < 1 or slowdowns + stops < most:
        return None
    held = Held(reason, slowdowns, stops, held_share(recording, stall))
    if stall is None or held.share >= HELD_MIN:
        return held
    # A wait that has not ended yet is counted as a stop, and its time is not counted.
    stood = stall.lowest_per_s < _STOOD * stall.usual_per_s
    return held if stops >= 1 and stood else None


def within(series: Series, stall: Stall | None) -> Series:
    """The stall's part: a wait's time is counted when it ends, so that the next answer belongs to it."""
    if stall is None:
        return series
    exact = series.between(stall.start_s, stall.end_s + _LATE_S)
    return exact if len(exact) else series.during(stall, slack_s=6.0)


def events(recording: Recording, reason: str, stall: Stall | None) -> tuple[float, float]:
    """Slowdowns and stops for that reason. What is counted with a compaction under way is counted in the whole too,
    so that the greater of both names stands for it."""
    slowdowns = stops = 0.0
    for name in REASONS[reason]:
        slowdowns = max(slowdowns, _count(recording, f"rocksdb_stall_{name}_slowdowns", stall))
        stops = max(stops, _count(recording, f"rocksdb_stall_{name}_stops", stall))
    return slowdowns, stops


def _count(recording: Recording, column: str, stall: Stall | None) -> float:
    return max(0.0, within(recording.series("rocksdb", column), stall).total())


def held_share(recording: Recording, stall: Stall | None) -> float:
    """Share of the time in which some writer was held back."""
    return within(recording.series("rocksdb", "rocksdb_stall_micros"), stall).mean() / 1e6


def severity(recording: Recording, stall: Stall | None, held: float) -> Severity:
    """A warning where it explains a stall, or where much of it is seen and nobody knows what throughput did."""
    blind = not len(recording.throughput) or recording.throughput.max() <= 0
    return Severity.WARNING if stall is not None or (blind and held >= HELD_MIN) else Severity.ADVICE


def finding(
    recording: Recording,
    stall: Stall | None,
    held: Held,
    *,
    what: str,
    why: str,
    remedy: str,
    fixes: tuple[Fix, ...],
    risk: str,
    verify: str = "rocksdb_stall_micros does not rise under the same load.",
) -> Finding:
    """What all of them say; `what` tells for what writers were held back."""
    return Finding(
        says=f"Writers were slowed {held.slowdowns:.0f} times and stopped {held.stops:.0f} times {what}; they were "
        f"held back {held.share:.0%} of the time.",
        why=why,
        severity=severity(recording, stall, held.share),
        evidence={
            "slowdowns": round(held.slowdowns),
            "stops": round(held.stops),
            "held_back_share": round(held.share, 3),
        },
        remedy=remedy,
        fixes=fixes,
        risk=risk,
        durability=Level.L3,
        verify=verify,
        confidence=0.9 if held.share > HELD_MIN else 0.7,
        ruled_out=_others(recording, held.reason, stall),
        start_s=0.0 if stall is None else None,
        end_s=recording.duration_s if stall is None else None,
        series=_series_of(held.reason),
    )


def _others(recording: Recording, reason: str, stall: Stall | None) -> tuple[str, ...]:
    """The other reasons, each with how often it held writers back."""
    return tuple(
        f"{_TITLES[one]}: {slow:.0f} slowdowns, {stops:.0f} stops"
        for one in REASONS
        if one != reason
        for slow, stops in [events(recording, one, stall)]
    )


_TITLES = {"l0": "files of level 0", "compaction": "bytes that wait for compaction", "memtable": "full memtables"}


def more_jobs(facts: Facts) -> Fix:
    """Twice the threads for flush and compaction."""
    return option(facts, "rocksdb_max_background_jobs", round(2 * number(facts, "rocksdb_max_background_jobs", 2)))


def option(facts: Facts, name: str, value: int) -> Fix:
    """A change of the store's options, which it reads at its start."""
    known = facts.find(f"setting.{name}")
    before = "" if known is None or known.unknown else str(known.value)
    return Fix(
        kind="setting",
        name=name,
        value=str(value),
        before=before,
        file="my.cnf",
        line=f"{name} = {value}",
        needs=Needs.RESTART,
        fact=f"setting.{name}",
    )


def family_option(words: str) -> Fix:
    """A change within rocksdb_default_cf_options, a list of its own that has to be merged by hand."""
    return Fix(
        kind="manual",
        name="rocksdb_default_cf_options",
        value=words,
        file="my.cnf",
        line=f"rocksdb_default_cf_options = …;{words}",
        needs=Needs.RESTART,
    )


def number(facts: Facts, name: str, otherwise: float) -> float:
    """A setting, or the server's default where the record does not tell it."""
    try:
        return facts.number(f"setting.{name}")
    except MissingFact:
        return otherwise


def _series_of(reason: str) -> tuple[str, ...]:
    names = [f"rocksdb.rocksdb_stall_{name}_{what}" for name in REASONS[reason] for what in ("slowdowns", "stops")]
    return (*names, "rocksdb.rocksdb_stall_micros")


def count_example(reason: str) -> Example:
    """A stall in which writers are held back for that reason."""
    example = Example(lowest_per_s=100)
    for one, names in REASONS.items():
        for name in names:
            for what in ("slowdowns", "stops"):
                example.level(f"rocksdb.rocksdb_stall_{name}_{what}", 0, during=3 if one == reason else 0)
    example.level("rocksdb.rocksdb_stall_micros", 0, during=800_000)
    example.fact("setting.rocksdb_max_background_jobs", 2)
    return example
