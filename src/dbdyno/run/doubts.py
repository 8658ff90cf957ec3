"""What weakens a run. Pure: from the outcome's phases, the driver's intervals, samples, facts and events.

Each doubt says what was seen and what would help. Thresholds are judgements; each has its reason beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dbdyno.hosts.where import LOCAL, is_near
from dbdyno.model.fact import Fact, Scalar
from dbdyno.model.plan import LoopMode, Plan
from dbdyno.model.run import Doubt, DoubtNote, PhaseOutcome
from dbdyno.run.outcome import GIVEN_UP
from dbdyno.samples.machine import SAMPLED, SERVER_SEEN
from dbdyno.samples.series import SampleStore, Series
from dbdyno.stats.steady import steady_from

DRIVER_BUSY_MAX = 0.85
"""Share of its workers' time. Above it, transactions wait for the driver as well as for the server."""
STEAL_MAX = 0.02
"""Share of the machine's processor time given to others; two per cent is what a 5 % effect cannot bear."""
RATE_SHORTFALL_MAX = 0.02
"""An open loop that completes less than this share below its rate has kept up; more, and its queue grows."""
LIMIT_NEAR = 0.95
LIMIT_SHARE_MAX = 0.2
"""A disk at 95 % of its limit in more than a fifth of the seconds decides the result."""
HIT_DRIFT_MAX = 0.01
"""Rise of the cache's hit ratio from the first to the last third of the measurement."""
INTERVALS_MIN = 30
"""Fewer intervals cannot show whether a run is steady."""
CLOCK_STEP_S = 0.5
HOST_CLOCK_S = 2.0
"""Distance of two machines' clocks. Below it, what one logged is found in the other's series; time services keep
machines within a tenth of a second, and the measurement itself is good to half a second."""
ANSWERED_MIN = 0.8
"""Share of the samples that should be there."""
WRITES_WAL_BYTES = 16 << 20
"""A run that wrote less log than this has no checkpoints to wait for."""


@dataclass(frozen=True)
class Evidence:
    """All that doubts look at."""

    plan: Plan
    phases: Sequence[PhaseOutcome]
    intervals: Sequence[Mapping[str, Any]] = ()
    events: Sequence[Mapping[str, Any]] = ()
    samples: SampleStore = field(default_factory=lambda: SampleStore((), ()))
    facts: Sequence[Fact] = ()
    server: Mapping[str, Scalar] = field(default_factory=dict)
    device: str | None = None
    interrupted: bool = False

    @property
    def measured(self) -> list[PhaseOutcome]:
        return [phase for phase in self.phases if phase.measured]

    @property
    def span(self) -> tuple[float, float]:
        """Begin and end of all that was measured."""
        measured = self.measured
        return measured[0].started_t_s, measured[-1].started_t_s + measured[-1].seconds

    def of_phase(self, phase: PhaseOutcome) -> list[Mapping[str, Any]]:
        return [one for one in self.intervals if one["phase"] == phase.phase]

    def fact(self, name: str) -> Scalar:
        return next((fact.value for fact in self.facts if fact.name == name and not fact.unknown), None)

    def within(self, series: Series | None) -> Series | None:
        return series.between(*self.span) if series is not None else None


def find_doubts(evidence: Evidence) -> tuple[DoubtNote, ...]:
    """All doubts, those first that make a tuner measure again."""
    notes: list[DoubtNote] = []
    if evidence.measured:
        for judge in _JUDGES:
            notes += judge(evidence)
    for judge in _JUDGES_OF_MACHINES:
        notes += judge(evidence)
    if evidence.interrupted:
        notes.append(_note(Doubt.INTERRUPTED, "The run was stopped before its end.", "run it again"))
    return tuple(sorted(notes, key=lambda note: not note.doubt.grave))


def _note(doubt: Doubt, says: str, helps: str = "") -> DoubtNote:
    return DoubtNote(doubt=doubt, says=says, helps=helps)


def _driver_saturated(evidence: Evidence) -> Iterator[DoubtNote]:
    # Where the plan leaves it open, the driver says how many it took.
    told = (event["workers"] for event in evidence.events if event.get("event") == "phase" and event.get("workers"))
    workers = next(told, evidence.plan.workers or 1)
    for phase in evidence.measured:
        busy = phase.driver_cpu_us_per_transaction * phase.tps / 1e6 / workers
        if busy > DRIVER_BUSY_MAX:
            yield _note(
                Doubt.DRIVER_SATURATED,
                f"In phase {phase.phase} the driver used {busy:.0%} of its {workers} worker thread(s).",
                "give it more with --workers, or run it on another machine",
            )


def _schedule_lag(evidence: Evidence) -> Iterator[DoubtNote]:
    open_loops = {phase.name: phase for phase in evidence.plan.phases if phase.mode is LoopMode.OPEN}
    for phase in evidence.measured:
        planned = open_loops.get(phase.phase)
        if planned is None or phase.seconds <= 0:
            continue
        ended = phase.tps + phase.errors / phase.seconds
        intervals = evidence.of_phase(phase)
        backlog = int(intervals[-1].get("backlog", 0)) if intervals else 0
        # Poisson arrivals scatter by the square root of their number: three times that is chance.
        expected = planned.rate_per_s * phase.seconds
        chance = 3 * expected**0.5 / expected if expected else 0.0
        if ended < planned.rate_per_s * (1 - max(RATE_SHORTFALL_MAX, chance)):
            yield _note(
                Doubt.SCHEDULE_LAG,
                f"Phase {phase.phase} wanted {planned.rate_per_s:g} transactions/s and got {ended:.1f}/s; {backlog} "
                "arrivals were waiting at its end: response times grow with the length of the run.",
                "choose a lower --rate, or more --threads",
            )


def _restarted_or_reset(evidence: Evidence) -> Iterator[DoubtNote]:
    restarted = _changed(evidence, "server_started")
    if restarted:
        yield _note(
            Doubt.SERVER_RESTARTED, "The server was restarted during the run.", "see the server's log for the reason"
        )
    start_s, end_s = evidence.span
    fell = [p for p in evidence.samples.probes() if any(start_s <= t <= end_s for t in evidence.samples.resets(p))]
    # Counters of the tables fall when one of them is dropped: only what the engine calls a reset counts for itself.
    if not restarted and _changed(evidence, "statistics_reset"):
        yield _note(
            Doubt.STATISTICS_RESET,
            "The server's statistics were reset during the run" + (f" (seen in {', '.join(fell)})." if fell else "."),
            "keep other tools from resetting them",
        )


def _changed(evidence: Evidence, role: str) -> bool:
    series = evidence.samples.by_role(role)
    if series is None:
        return False
    values = series.values[~np.isnan(series.values)]
    return bool(values.size and np.ptp(values) > 1e-3)


def _cache_cold(evidence: Evidence) -> Iterator[DoubtNote]:
    start_s, end_s = evidence.span
    third = (end_s - start_s) / 3
    ratios = []
    for begin in (start_s, end_s - third):
        hits = evidence.samples.increase_of_role("cache_hits", begin, begin + third)
        misses = evidence.samples.increase_of_role("cache_misses", begin, begin + third)
        if hits is None or misses is None or hits + misses <= 0:
            return
        ratios.append(hits / (hits + misses))
    if ratios[1] - ratios[0] > HIT_DRIFT_MAX:
        yield _note(
            Doubt.CACHE_COLD,
            f"The cache was still filling: its hit ratio rose from {ratios[0]:.1%} to {ratios[1]:.1%} while measuring.",
            "warm up longer (--warmup-time)",
        )


def _disk_throttled(evidence: Evidence) -> Iterator[DoubtNote]:
    device = evidence.device or evidence.fact("host.disk_device")
    if not device:
        return
    for kind in ("read", "write"):
        limit = evidence.fact(f"host.cgroup_{kind}_iops")
        series = evidence.within(evidence.samples.by_role(f"disk_{kind}s", {"device": str(device)}))
        if not isinstance(limit, int | float) or series is None or not series.values.size:
            continue
        share = float(np.mean(series.values >= LIMIT_NEAR * limit))
        if share > LIMIT_SHARE_MAX:
            yield _note(
                Doubt.DISK_THROTTLED,
                f"{device} ran at its limit of {limit:g} {kind}s/s in {share:.0%} of the seconds.",
                "nothing is wrong if the limit is meant; else raise it",
            )


def _noisy_neighbour(evidence: Evidence) -> Iterator[DoubtNote]:
    start_s, end_s = evidence.span
    stolen = evidence.samples.increase_of_role("cpu_steal_s", start_s, end_s)
    cores = evidence.fact("host.cores")
    if stolen is None or not isinstance(cores, int | float) or end_s <= start_s:
        return
    share = stolen / (cores * (end_s - start_s))
    if share > STEAL_MAX:
        yield _note(
            Doubt.NOISY_NEIGHBOUR,
            f"{share:.1%} of the machine's processor time went to other virtual machines.",
            "run again at a quieter time, or on a machine of your own",
        )


def _same_host(evidence: Evidence) -> Iterator[DoubtNote]:
    if evidence.plan.workload is None or evidence.plan.target.machine != "local":
        return
    host = evidence.plan.target.host
    if host.startswith("/") or host in ("localhost", "::1", "") or host.startswith("127."):
        driver, server = evidence.server.get("driver_cpu_s"), evidence.server.get("server_cpu_s")
        used = ""
        if isinstance(driver, int | float) and isinstance(server, int | float) and driver + server > 0:
            used = f" It used {driver / (driver + server):.0%} of what both used."
        yield _note(
            Doubt.DRIVER_ON_SERVER_HOST,
            "The load came from the server's own machine and took processor time from it." + used,
            "load from another machine for absolute figures; comparisons on one machine are fair",
        )


def _host_elsewhere(evidence: Evidence) -> Iterator[DoubtNote]:
    """Series of a machine that the server is perhaps not on; or none at all."""
    target = evidence.plan.target
    sampled = next((fact for fact in evidence.facts if fact.name == SAMPLED), None)
    if sampled is None or not evidence.plan.sample:
        return
    if sampled.unknown:
        yield _note(
            Doubt.HOST_ELSEWHERE,
            f"The machine under the server was not sampled: {sampled.unknown}.",
            "name it with --host ssh://user@host, or --host local when it is this one",
        )
        return
    if sampled.value == LOCAL and not is_near(target) and evidence.fact(SERVER_SEEN) is None:
        yield _note(
            Doubt.HOST_ELSEWHERE,
            f"This machine was sampled, and the server was reached at {target.host}: if that is another machine, the "
            "machine's series say nothing about it.",
            "name the server's machine with --host ssh://user@host",
        )
    if evidence.fact(SERVER_SEEN) == "":
        yield _note(
            Doubt.HOST_ELSEWHERE,
            f"The process that the server calls its own is not on {sampled.value}: the server is on another machine, "
            "or in a container that numbers its own processes.",
            "name the server's machine with --host",
        )


def _host_clock(evidence: Evidence) -> Iterator[DoubtNote]:
    offset_s = evidence.fact("host.clock_offset_s")
    if isinstance(offset_s, int | float) and abs(offset_s) > HOST_CLOCK_S:
        ahead = "ahead of" if offset_s > 0 else "behind"
        yield _note(
            Doubt.HOST_CLOCK,
            f"The clock of {evidence.fact(SAMPLED)} is {abs(offset_s):.1f} s {ahead} this machine's.",
            "times of the series are this machine's and hold; what was logged there bears other times",
        )


def _checkpoint_cycle(evidence: Evidence) -> Iterator[DoubtNote]:
    timed, requested = evidence.server.get("checkpoints_timed"), evidence.server.get("checkpoints_requested")
    wal = evidence.server.get("wal_bytes")
    numbers = [n for n in (timed, requested) if isinstance(n, int | float)]
    if len(numbers) < 2 or not isinstance(wal, int | float) or wal < WRITES_WAL_BYTES:
        return
    # Interpolation at the edges may split one checkpoint: half of one is none.
    if sum(numbers) < 0.5:
        yield _note(
            Doubt.SHORTER_THAN_CHECKPOINT_CYCLE,
            "No checkpoint fell into the measurement: the writing of data pages was put off, not done.",
            "measure longer (--time), or look at the charged throughput of a tuning",
        )


def _not_steady(evidence: Evidence) -> Iterator[DoubtNote]:
    for phase in evidence.measured:
        intervals = evidence.of_phase(phase)
        rates = [
            sum(int(one["count"]) for one in interval["transactions"].values()) / interval["seconds"]
            for interval in intervals
            if interval["seconds"] > 0.5 * evidence.plan.interval_s
        ]
        if len(rates) < INTERVALS_MIN:
            yield _note(
                Doubt.SHORT,
                f"Phase {phase.phase} has {len(rates)} intervals: too few to tell whether it was steady.",
                f"measure at least {INTERVALS_MIN * evidence.plan.interval_s:g} s (--time)",
            )
            continue
        judged = steady_from(rates)
        if not judged.steady:
            yield _note(
                Doubt.NOT_STEADY,
                f"Phase {phase.phase} was not steady: {judged.says}.",
                "warm up or measure longer (--warmup-time, --time)",
            )


def _errors(evidence: Evidence) -> Iterator[DoubtNote]:
    for phase in evidence.measured:
        if phase.errors:
            kinds: dict[str, int] = {}
            for one in phase.transactions.values():
                for kind, n in one.get("errors", {}).items():
                    if kind == GIVEN_UP:
                        continue
                    kinds[kind] = kinds.get(kind, 0) + int(n)
            seen = ", ".join(f"{n} {kind}" for kind, n in sorted(kinds.items()))
            yield _note(
                Doubt.ERRORS,
                f"{phase.errors} transactions were given up in phase {phase.phase} (failed attempts: {seen}).",
                "see the server's log; fewer --threads or a larger --scale collide less",
            )


def _reconnects(evidence: Evidence) -> Iterator[DoubtNote]:
    names = {phase.phase for phase in evidence.measured}
    lost = sum(int(one.get("reconnects", 0)) for one in evidence.intervals if one["phase"] in names)
    if lost:
        yield _note(
            Doubt.RECONNECTS,
            f"Connections were lost and made again {lost} times.",
            "see the server's log for the reason",
        )


def _clock_stepped(evidence: Evidence) -> Iterator[DoubtNote]:
    """The distance of the wall clock from the monotonic one must not change."""
    offsets = [
        float(event["unix_s"]) - float(event["monotonic_s"])
        for event in evidence.events
        if event["event"] == "clock" and event.get("from") == "dyno"
    ]
    if len(offsets) >= 2 and max(offsets) - min(offsets) > CLOCK_STEP_S:
        yield _note(
            Doubt.CLOCK_STEPPED,
            f"The machine's wall clock stepped by {max(offsets) - min(offsets):.1f} s during the run.",
            "times of the run come from the monotonic clock and hold; what the server timed by the wall clock may not",
        )


def _samples_missing(evidence: Evidence) -> Iterator[DoubtNote]:
    if not evidence.plan.sample:
        return
    start_s, end_s = evidence.span
    period_s = max(1.0, evidence.plan.sample_every_s)
    expected = int((end_s - start_s) / period_s)
    thin = []
    for name in evidence.samples.probes():
        probe = evidence.samples.probe(name)
        if probe is None or probe.optional or probe.every_s > period_s or expected < 3:
            continue
        got = sum(1 for s in evidence.samples.samples(name) if start_s <= s.t_s <= end_s and not s.unknown)
        if got < ANSWERED_MIN * expected:
            thin.append(f"{name} {got}/{expected}")
    optional = {name for name in evidence.samples.known() if (one := evidence.samples.probe(name)) and one.optional}
    unknown = [
        f"{name}: {reason}" for name, reason in sorted(evidence.samples.unknown().items()) if name not in optional
    ]
    if thin or unknown:
        yield _note(
            Doubt.SAMPLES_MISSING,
            "Samples are missing (" + "; ".join([*thin, *unknown]) + ").",
            "grant the privilege that a reason names; an overloaded machine may also answer too late",
        )


_JUDGES: Iterable[Callable[[Evidence], Iterator[DoubtNote]]] = (
    _driver_saturated,
    _schedule_lag,
    _restarted_or_reset,
    _errors,
    _reconnects,
    _clock_stepped,
    _noisy_neighbour,
    _disk_throttled,
    _cache_cold,
    _not_steady,
    _checkpoint_cycle,
    _samples_missing,
    _same_host,
)
_JUDGES_OF_MACHINES = (_host_elsewhere, _host_clock)
"""These hold for recordings without load as well."""
