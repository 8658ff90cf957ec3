"""What the diagnoses of this folder share: how often the store held writers back, and for what."""

from __future__ import annotations

from dbdyno.model.example import Example
from dbdyno.model.facts import Facts, MissingFact
from dbdyno.model.finding import Fix, Needs, Severity
from dbdyno.model.recording import Recording, Series, Stall

HELD_MIN = 0.05
"""A stall in which writers were held back for a smaller part of the time has another cause."""
REASONS = {
    "l0": ("l0_file_count_limit", "locked_l0_file_count_limit"),
    "compaction": ("pending_compaction_limit",),
    "memtable": ("memtable_limit",),
}
"""By what the writers were held back: the server's counters `rocksdb_stall_<name>_slowdowns` and `…_stops`."""


def within(series: Series, stall: Stall | None) -> Series:
    if stall is None:
        return series
    exact = series.during(stall)
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
    """Share of the time in which some writer was held back; above 1 when several were at once."""
    return within(recording.series("rocksdb", "rocksdb_stall_micros"), stall).mean() / 1e6


def severity(recording: Recording, stall: Stall | None, held: float) -> Severity:
    """A warning where it explains a stall, or where much of it is seen and nobody knows what throughput did."""
    blind = not len(recording.throughput) or recording.throughput.max() <= 0
    return Severity.WARNING if stall is not None or (blind and held >= HELD_MIN) else Severity.ADVICE


def others(recording: Recording, reason: str, stall: Stall | None) -> tuple[str, ...]:
    """The other reasons, each with how often it held writers back."""
    return tuple(
        f"{_TITLES[one]}: {slow:.0f} slowdowns, {stops:.0f} stops"
        for one in REASONS
        if one != reason
        for slow, stops in [events(recording, one, stall)]
    )


def leads(recording: Recording, reason: str, stall: Stall | None) -> bool:
    """Whether no other reason held writers back more often."""
    own = sum(events(recording, reason, stall))
    return all(sum(events(recording, one, stall)) <= own for one in REASONS if one != reason)


_TITLES = {"l0": "files of level 0", "compaction": "bytes that wait for compaction", "memtable": "full memtables"}


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


def series_of(reason: str) -> tuple[str, ...]:
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
