"""backend-writes: clients' processes write dirty pages themselves

What is seen: clients wait for writes of data files (wait events `DataFileWrite`, `DataFileFlush`), and most pages are
written by the clients' processes, not by checkpoints or the background writer, which stops at its limit.

Why it happens: a process that needs a free page in the cache finds only dirty ones and has to write one first. The
background writer, whose task it is, may write too few pages a round.

Remedy: let the background writer do more (bgwriter_lru_maxpages, bgwriter_lru_multiplier, bgwriter_delay); a larger
cache.

Cost: pages that are changed often may be written more often.

Rivals: files that grow (extension is counted with writes); a checkpoint's writes.

References: "Tuning PostgreSQL for sysbench-tpcc" (Percona, 2018): maxpages 1000, multiplier 10.
"""

from __future__ import annotations

from dbdyno.engines.postgresql.diagnoses._settings import setting
from dbdyno.engines.postgresql.diagnoses._waits import DATA_WRITE, series_of, share
from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.example import Example
from dbdyno.model.finding import Finding
from dbdyno.model.knob import Level
from dbdyno.model.recording import Recording, Stall

_WAITS = 0.2
_BY_BACKENDS = 0.5


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    if stall is None:
        return None
    own = recording.series("buffers", "backends").during(stall)
    others = [recording.series("buffers", name).during(stall).total() for name in ("checkpointer", "cleaner")]
    total = own.total() + sum(others)
    by_backends = own.total() / total if total > 0 else 0.0
    waits = share(recording, stall, *DATA_WRITE)
    stops = recording.series("buffers", "cleaner_stops").during(stall).total()
    if waits < _WAITS or by_backends < _BY_BACKENDS:
        return None
    extended = share(recording, stall, "IO/DataFileExtend")
    if extended > 0.5 * waits:
        return None
    return Finding(
        says=f"Clients' processes wrote {by_backends:.0%} of the pages in the stall and waited for it {waits:.0%} of "
        "their time.",
        why=f"The background writer broke off {stops:.0f} rounds at its limit." if stops else "Clean pages ran out.",
        evidence={
            "written_by_clients": round(own.total()),
            "written_by_checkpoints": round(others[0]),
            "written_by_background_writer": round(others[1]),
            "write_wait_share": round(waits, 2),
            "rounds_broken_off": round(stops),
        },
        remedy="Let the background writer clean more pages a round.",
        fixes=(
            setting(recording.facts, "bgwriter_lru_maxpages", 1000),
            setting(recording.facts, "bgwriter_lru_multiplier", 10),
        ),
        durability=Level.L3,
        risk="Pages that are changed often may be written more often.",
        verify="buffers.cleaner rises instead of buffers.backends.",
        confidence=0.75,
        ruled_out=(
            f"files that grow: {extended:.0%} of the clients' time",
            f"a checkpoint's writes: {others[0]:.0f} pages in the stall",
        ),
        series=("buffers.backends", "buffers.cleaner", "buffers.checkpointer", *series_of(recording, *DATA_WRITE)),
    )


def _example(*, own: bool) -> Example:
    """In the stall clients write 5,000 pages a second, or a checkpoint does."""
    example = Example(lowest_per_s=200)
    example.level("buffers.backends", 50, during=5000 if own else 50)
    example.level("buffers.checkpointer", 100, during=100 if own else 5000)
    example.level("buffers.cleaner", 100, during=500)
    example.level("buffers.cleaner_stops", 0, during=5)
    example.level("waits.count/CPU/running", 4, during=2, role="waiting")
    example.level("waits.count/IO/DataFileWrite", 0, during=6)
    example.fact("setting.bgwriter_lru_maxpages", 100)
    example.fact("setting.bgwriter_lru_multiplier", 2)
    return example


DIAGNOSIS = Diagnosis(
    id="backend-writes",
    title="Clients' processes write dirty pages themselves",
    check=check,
    source="Tuning PostgreSQL for sysbench-tpcc (Percona, 2018)",
    bad=lambda: _example(own=True),
    good=lambda: _example(own=False),
)
