"""From a record to its explanation: stalls, what they cost, and their causes, ranked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np

from dbdyno.explain.diagnose import Ranked, Unknown, diagnose
from dbdyno.explain.finding_stalls import STALLS_MAX
from dbdyno.explain.recorded import RunRecording
from dbdyno.explain.registry import diagnoses
from dbdyno.model.finding import Severity
from dbdyno.model.record import Record
from dbdyno.model.recording import Event, Floats, Recording, Stall
from dbdyno.model.run import Doubt

_CURVE_MAX = 600


class Stretch(Record, frozen=True, kw_only=True):
    """A phase of the run."""

    kind: str
    start_s: float
    end_s: float
    level_per_s: float


class Explanation(Record, frozen=True, kw_only=True):
    """Everything that `dyno explain` says; views are pure functions of it."""

    name: str
    engine: str = ""
    duration_s: float = 0.0
    throughput_from: str = ""
    """`driver`, `server`, or empty when there is none."""
    stalls: tuple[Stall, ...] = ()
    lost: float = 0.0
    """Transactions lost in all stalls."""
    done: float = 0.0
    """Transactions done in the whole record."""
    findings: tuple[Ranked, ...] = ()
    unexplained: tuple[int, ...] = ()
    """Stalls that no finding at warning or above explains."""
    unknown: tuple[Unknown, ...] = ()
    phases: tuple[Stretch, ...] = ()
    events: tuple[Event, ...] = ()
    notes: tuple[str, ...] = ()
    """What weakens the explanation."""
    curve_t_s: tuple[float, ...] = ()
    curve_per_s: tuple[float | None, ...] = ()
    """Throughput, thinned to what a picture shows; None where it is not known."""

    @property
    def stalled(self) -> bool:
        return bool(self.stalls)


def explain_run(folder: Path) -> Explanation:
    """Explains a run folder. Raises `RecordError` when it is not one."""
    recording = RunRecording(folder)
    explanation = explain(
        recording,
        name=folder.name,
        engine=recording.engine,
        phases=tuple(
            Stretch(kind=str(one.kind), start_s=one.start_s, end_s=one.end_s, level_per_s=one.level)
            for one in recording.phases
        ),
        throughput_from="" if not len(recording.throughput) else "driver" if recording.from_driver else "server",
    )
    # Lines that cannot be read show only when somebody asks for them: after the diagnoses.
    return msgspec.structs.replace(explanation, notes=tuple(_notes(recording)))


def explain(
    recording: Recording,
    *,
    name: str,
    engine: str | None = None,
    phases: tuple[Stretch, ...] = (),
    throughput_from: str = "",
    notes: Sequence[str] = (),
) -> Explanation:
    """Explains any recording. `engine` None asks the diagnoses of the machine and of every engine."""
    ranked, unknown = diagnose(recording, diagnoses(engine))
    named = {number for one in ranked if one.finding.severity != Severity.ADVICE for number in one.stalls}
    t_s, per_s = _curve(recording)
    done = recording.throughput.total() if len(recording.throughput) else 0.0
    return Explanation(
        name=name,
        engine=engine or "",
        duration_s=recording.duration_s,
        throughput_from=throughput_from,
        stalls=recording.stalls,
        lost=sum(stall.lost for stall in recording.stalls),
        done=done,
        findings=tuple(ranked),
        unexplained=tuple(number for number in range(len(recording.stalls)) if number not in named),
        unknown=tuple(unknown),
        phases=phases,
        events=recording.events,
        notes=tuple(notes),
        curve_t_s=t_s,
        curve_per_s=per_s,
    )


def _notes(recording: RunRecording) -> list[str]:
    """What was not there, in words."""
    notes = []
    if recording.record.outcome is None:
        notes.append("The record has no outcome: it was cut off, or the run still goes on.")
    if bad := recording.unreadable_lines:
        notes.append(f"{bad} lines of the record could not be read and were passed over.")
    if not len(recording.throughput):
        notes.append("No throughput was recorded: stalls cannot be found, only what shows without them.")
    elif not recording.from_driver:
        notes.append("There was no load of ours: throughput is what the server says it committed.")
    notes += _machine(recording)
    if len(recording.stalls) == STALLS_MAX:
        notes.append(f"Only the {STALLS_MAX} worst stalls are kept and judged.")
    notes += [f"No stall from {one.start_s:.0f} to {one.end_s:.0f} s: {one.says}." for one in recording.lulls[:5]]
    silent = [f"{name} ({why})" for name, why in sorted(recording.store.unknown().items())]
    if silent:
        notes.append("Not seen: " + "; ".join(silent) + ".")
    return notes


def _curve(recording: Recording) -> tuple[tuple[float, ...], tuple[float | None, ...]]:
    """Thinned by minima: a stall of a second must not vanish from a picture of hours."""
    series = recording.throughput
    count = series.t_s.size
    if not count:
        return (), ()
    by = -(-count // _CURVE_MAX)
    padded: Floats = np.append(series.values, np.full(-count % by, np.nan)).reshape(-1, by)
    lowest = np.min(np.where(np.isfinite(padded), padded, np.inf), axis=1)
    times = series.t_s[::by]
    values = tuple(round(float(one), 3) if np.isfinite(one) else None for one in lowest)
    return tuple(round(float(one), 3) for one in times), values


_OF_MACHINES = {Doubt.HOST_ELSEWHERE, Doubt.HOST_CLOCK}


def _machine(recording: RunRecording) -> list[str]:
    """Which machine the series of the machine are of, when it is not simply this one, and what is doubtful in that."""
    sampled = recording.facts.find("host.sampled")
    notes = []
    if sampled is not None and not sampled.unknown and sampled.value != "local":
        notes.append(f"Series of the machine are those of {sampled.value}.")
    outcome = recording.record.outcome
    return notes + [one.says for one in (outcome.doubts if outcome else ()) if one.doubt in _OF_MACHINES]
