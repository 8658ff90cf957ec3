"""Each doubt from evidence that shows it, and none from a healthy run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from dbdyno.model.fact import Fact
from dbdyno.model.plan import LoopMode, Phase, Plan, WorkloadSpec
from dbdyno.model.probe import Column, ColumnKind, Probe, Sample
from dbdyno.model.run import Doubt, Latency, PhaseOutcome
from dbdyno.model.target import Target
from dbdyno.run.doubts import Evidence, find_doubts
from dbdyno.samples.series import SampleStore

SECONDS = 60
REMOTE = Target(engine="e", host="db.example", port=1, user="u", database="d", machine="unknown")
ROLES = ("server_started", "statistics_reset", "cache_hits", "cache_misses", "cpu_steal_s")
PROBE = Probe(
    name="p",
    title="t",
    columns=tuple(
        Column(name=role, kind=ColumnKind.COUNTER if role[0] == "c" else ColumnKind.GAUGE, role=role) for role in ROLES
    ),
)
DISK = Probe(
    name="disk",
    title="t",
    columns=(
        Column(name="device", kind=ColumnKind.KEY),
        Column(name="reads", kind=ColumnKind.COUNTER, role="disk_reads"),
        Column(name="writes", kind=ColumnKind.COUNTER, role="disk_writes"),
    ),
)


def phase(**changes: Any) -> PhaseOutcome:
    values: dict[str, Any] = {
        "phase": "measure", "started_t_s": 0.0, "seconds": float(SECONDS), "threads": 4, "measured": True,
        "count": 6000, "tps": 100.0, "transactions": {"t": {"count": 6000, "errors": {}, "retries": 0}},
        "errors": 0, "retries": 0, "response": Latency(), "service": Latency(),
    }  # fmt: skip
    return PhaseOutcome(**(values | changes))


def intervals(rate: Any = lambda i: 100 + (i * 7) % 5, **changes: Any) -> list[dict[str, Any]]:
    return [
        {"event": "interval", "phase": "measure", "seconds": 1.0, "transactions": {"t": {"count": rate(i)}}} | changes
        for i in range(SECONDS)
    ]


def samples(**by_role: Any) -> SampleStore:
    """One answer a second; each role a function of the second."""
    usual = {
        "server_started": lambda t: 5.0, "statistics_reset": lambda t: 1.0,
        "cache_hits": lambda t: 1000 * t, "cache_misses": lambda t: t, "cpu_steal_s": lambda t: 0,
    }  # fmt: skip
    functions = usual | by_role
    ticks = range(SECONDS + 1)
    rows = [Sample(t_s=t, probe="p", rows=({role: functions[role](t) for role in ROLES},)) for t in ticks]
    writes = by_role.get("writes", lambda t: 100 * t)
    disks = [Sample(t_s=t, probe="disk", rows=({"device": "loop0", "reads": 0, "writes": writes(t)},)) for t in ticks]
    return SampleStore([PROBE, DISK], [*rows, *disks])


HEALTHY = Evidence(
    plan=Plan(target=REMOTE, workload=WorkloadSpec(name="w"), threads=4, phases=(Phase(name="measure", time_s=60),)),
    phases=(phase(),),
    intervals=intervals(),
    samples=samples(),
    facts=(Fact(name="host.cores", value=2), Fact(name="host.cgroup_write_iops", value=3000)),
    server={"wal_bytes": 1e9, "checkpoints_timed": 1.0, "checkpoints_requested": 0.0},
    device="loop0",
)


def clock(when: str, unix_s: float, monotonic_s: float) -> dict[str, Any]:
    return {"event": "clock", "from": "dyno", "when": when, "unix_s": unix_s, "monotonic_s": monotonic_s}


def open_loop(rate: float) -> Plan:
    planned = Phase(name="measure", mode=LoopMode.OPEN, time_s=60, rate_per_s=rate)
    return Plan(target=REMOTE, workload=WorkloadSpec(name="w"), threads=4, phases=(planned,))


def local() -> Plan:
    target = Target(engine="e", host="127.0.0.1", port=1, user="u", database="d")
    return Plan(target=target, workload=WorkloadSpec(name="w"), phases=(Phase(name="measure"),))


CASES: dict[Doubt, dict[str, Any]] = {
    Doubt.DRIVER_SATURATED: {"phases": (phase(driver_cpu_us_per_transaction=9000.0),)},
    Doubt.SCHEDULE_LAG: {"plan": open_loop(150), "intervals": intervals(backlog=3000)},
    Doubt.SERVER_RESTARTED: {"samples": samples(server_started=lambda t: 5.0 if t < 30 else 99.0)},
    Doubt.STATISTICS_RESET: {"samples": samples(statistics_reset=lambda t: 1.0 if t < 30 else 99.0)},
    Doubt.CACHE_COLD: {"samples": samples(cache_misses=lambda t: 500 * min(t, 20))},
    Doubt.DISK_THROTTLED: {"samples": samples(writes=lambda t: 2990 * t)},
    Doubt.NOISY_NEIGHBOUR: {"samples": samples(cpu_steal_s=lambda t: 0.1 * t)},
    Doubt.DRIVER_ON_SERVER_HOST: {"plan": local()},
    Doubt.SHORTER_THAN_CHECKPOINT_CYCLE: {
        "server": {"wal_bytes": 1e9, "checkpoints_timed": 0.0, "checkpoints_requested": 0.2}
    },
    Doubt.NOT_STEADY: {"intervals": intervals(lambda i: 100 if i < 40 else 50)},
    Doubt.ERRORS: {
        "phases": (phase(errors=3, transactions={"t": {"count": 1, "errors": {"given_up": 3, "deadlock": 33}}}),)
    },
    Doubt.RECONNECTS: {"intervals": intervals(reconnects=1)},
    Doubt.CLOCK_STEPPED: {"events": (clock("before", 1000, 10), clock("after", 1075, 70))},
    Doubt.SAMPLES_MISSING: {"samples": SampleStore([PROBE], [Sample(t_s=t, probe="p", unknown="no") for t in (0, 9)])},
    Doubt.SHORT: {"intervals": intervals()[:9]},
    Doubt.INTERRUPTED: {"interrupted": True},
    Doubt.HOST_ELSEWHERE: {"facts": (Fact(name="host.sampled", value="local"),)},
    Doubt.HOST_CLOCK: {
        "facts": (Fact(name="host.sampled", value="ssh://db"), Fact(name="host.clock_offset_s", value=-7.5, unit="s"))
    },
}


def kinds(evidence: Evidence) -> set[Doubt]:
    return {note.doubt for note in find_doubts(evidence)}


def test_a_healthy_run_has_none() -> None:
    assert find_doubts(HEALTHY) == ()


@pytest.mark.parametrize("doubt", list(CASES), ids=str)
def test_each_doubt_is_seen_alone(doubt: Doubt) -> None:
    assert kinds(replace(HEALTHY, **CASES[doubt])) == {doubt}


def test_every_doubt_has_a_case_here_or_is_another_modules() -> None:
    assert set(Doubt) - set(CASES) == {Doubt.DATASET_NOT_RESET}


def far(*facts: Fact, host: str = "db.example") -> set[Doubt]:
    target = Target(engine="e", host=host, port=1, user="u", database="d", machine="unknown")
    plan = replace_plan(HEALTHY.plan, target)
    return kinds(replace(HEALTHY, plan=plan, facts=(*HEALTHY.facts, *facts), phases=()))


def replace_plan(plan: Plan, target: Target) -> Plan:
    return msgspec.structs.replace(plan, target=target)


def test_a_machine_that_is_not_the_servers_is_doubted() -> None:
    here, there = Fact(name="host.sampled", value="local"), Fact(name="host.sampled", value="ssh://db")
    process = "host.server_process"
    assert far(Fact(name="host.sampled", unknown="none was named")) == {Doubt.HOST_ELSEWHERE}
    assert far(here) == {Doubt.HOST_ELSEWHERE}
    assert far(here, host="127.0.0.1") == set()
    assert far(here, Fact(name=process, value="server")) == set()
    assert far(there) == set()
    assert far(there, Fact(name=process, value="server")) == set()
    assert far(there, Fact(name=process, value="")) == {Doubt.HOST_ELSEWHERE}
    assert far(there, Fact(name=process, unknown="Permission denied")) == set()


def test_clocks_that_are_near_are_no_doubt() -> None:
    assert far(Fact(name="host.clock_offset_s", value=1.4, unit="s")) == set()
    assert far(Fact(name="host.clock_offset_s", value=2.6, unit="s")) == {Doubt.HOST_CLOCK}


def test_grave_ones_come_first() -> None:
    both = replace(HEALTHY, **CASES[Doubt.SHORT], **CASES[Doubt.ERRORS])
    assert [note.doubt for note in find_doubts(both)] == [Doubt.ERRORS, Doubt.SHORT]


def test_an_open_loop_that_keeps_up_is_fine() -> None:
    assert kinds(replace(HEALTHY, plan=open_loop(101))) == set()


def test_nothing_measured_gives_only_what_is_certain() -> None:
    assert kinds(replace(HEALTHY, phases=(), interrupted=True)) == {Doubt.INTERRUPTED}


def test_without_any_sample_there_is_no_invented_doubt() -> None:
    assert kinds(replace(HEALTHY, samples=SampleStore((), ()), facts=())) == set()
