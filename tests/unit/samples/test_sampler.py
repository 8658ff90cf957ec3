"""The sampler never ends a run: reasons are recorded once, a lost server is found again, costs are counted."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from dbdyno.hosts.registry import Watch
from dbdyno.model.errors import DynoError, TargetError
from dbdyno.model.probe import Column, ColumnKind, Probe, Sample
from dbdyno.samples.sampler import Sampler, ServerLine

COLUMNS = (Column(name="n", kind=ColumnKind.GAUGE),)
GOOD = Probe(name="good", title="t", columns=COLUMNS)
SECRET = Probe(name="secret", title="t", columns=COLUMNS, privilege="watcher")


class HandClock:
    """Monotonic time that only the test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now

    def unix(self) -> float:
        return 1e9 + self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class FakeServer:
    def __init__(self) -> None:
        self.up = True
        self.asked: list[str] = []
        self.connections = 0

    def connect(self) -> Any:
        if not self.up:
            raise TargetError("no", found="connection refused")
        self.connections += 1
        return self

    def ask(self, probe: Probe) -> tuple[dict[str, Any], ...]:
        if not self.up:
            raise TargetError("lost", found="the connection was lost")
        self.asked.append(probe.name)
        if probe.privilege:
            raise TargetError("refused", found="lacks watcher")
        return ({"n": 1},)

    def close(self) -> None:
        return None


class Rig:
    """A sampler of a fake server whose ticks the test makes, without threads."""

    def __init__(self, *probes: Probe) -> None:
        self.clock, self.server = HandClock(), FakeServer()
        self.samples: list[Sample] = []
        line = ServerLine(self.server.connect, self.clock, self.server.connect())
        self.sampler = Sampler(
            clock=self.clock, emit=self.samples.append, watch=Watch, line=line, probes=probes, machine=False
        )
        self.lane = self.sampler._lanes[0]

    def tick(self, seconds: float = 1.0, *, aligned: bool = False) -> None:
        self.clock.now += seconds
        self.sampler._tick(self.lane, aligned=aligned)

    def reasons(self, probe: str) -> list[str]:
        return [sample.unknown for sample in self.samples if sample.probe == probe]


def test_a_missing_privilege_is_written_once_and_asked_again_rarely() -> None:
    rig = Rig(GOOD, SECRET)
    for _ in range(100):
        rig.tick()
    assert rig.reasons("secret") == ["lacks watcher"]
    assert rig.server.asked.count("secret") == 2
    # Twice more, to see whether the connection or only the question failed.
    assert rig.server.asked.count("good") == 102
    assert rig.reasons("good") == [""] * 100


def test_a_reader_that_trips_costs_its_own_probe_only() -> None:
    rig = Rig(GOOD, Probe(name="odd", title="t", columns=COLUMNS))

    def ask(probe: Probe, before: Callable[[Probe], Any] = rig.server.ask) -> Any:
        return {}["not there"] if probe.name == "odd" else before(probe)

    rig.server.ask = ask  # type: ignore[method-assign]
    rig.tick()
    rig.tick()
    assert rig.reasons("odd") == ["KeyError: 'not there'"]
    assert rig.reasons("good") == ["", ""]


def test_a_server_lost_between_two_questions_is_found_again() -> None:
    """Else the questions after the break would rest like those without a privilege."""
    second = Probe(name="second", title="t", columns=COLUMNS)
    rig = Rig(GOOD, second)
    rig.tick()
    broken: list[str] = []

    def ask(probe: Probe, before: Callable[[Probe], Any] = rig.server.ask) -> Any:
        answer = before(probe)
        if probe.name == "good" and not broken:
            rig.server.up = False
            broken.append("now")
        return answer

    rig.server.ask = ask  # type: ignore[method-assign]
    rig.tick()
    assert rig.reasons("second")[-1] == "the connection was lost"
    rig.server.up = True
    rig.tick()
    rig.tick(2.0)
    assert rig.reasons("good")[-1] == rig.reasons("second")[-1] == ""
    assert rig.server.connections == 2


def test_a_lost_server_is_found_again() -> None:
    rig = Rig(GOOD)
    rig.tick()
    rig.server.up = False
    for _ in range(5):
        rig.tick()
    assert rig.reasons("good") == ["", "the connection was lost"]
    rig.server.up = True
    for _ in range(15):
        rig.tick()
    assert rig.reasons("good")[2:]
    assert set(rig.reasons("good")[2:]) == {""}
    assert rig.sampler.cost()["server_reconnects"] == 1


def test_slow_probes_keep_their_own_period_and_edges_do_not_ask_twice() -> None:
    slow = Probe(name="slow", title="t", columns=COLUMNS, every_s=5)
    rig = Rig(GOOD, slow)
    for _ in range(20):
        rig.tick()
    assert rig.server.asked.count("slow") == 4
    before = len(rig.server.asked)
    rig.tick(0.1, aligned=True)
    assert len(rig.server.asked) == before
    rig.tick(0.3, aligned=True)
    assert rig.server.asked[before:] == ["good"]


def test_costs_are_counted() -> None:
    rig = Rig(GOOD, SECRET)
    rig.tick()
    cost = rig.sampler.cost()
    assert (cost["server_questions"], cost["server_failed"]) == (2, 1)


def start_and_stop(emit: Callable[[Sample], None], server: FakeServer) -> Sampler:
    clock = HandClock()
    sampler = Sampler(
        clock=clock, emit=emit, watch=Watch, line=ServerLine(server.connect, clock), probes=[GOOD], machine=False
    )
    sampler.start(clock.now)
    sampler.stop()
    return sampler


def test_it_starts_and_stops_and_asks_at_both_ends() -> None:
    samples: list[Sample] = []
    start_and_stop(samples.append, FakeServer())
    assert samples
    assert all(sample.rows for sample in samples)


@pytest.mark.parametrize("failure", [OSError("disk full"), DynoError("disk full")])
def test_a_record_that_cannot_be_written_is_said_not_raised(failure: Exception) -> None:
    def emit(_: Sample) -> None:
        raise failure

    assert "disk full" in str(start_and_stop(emit, FakeServer()).cost()["failure"])


def test_a_server_that_hangs_holds_nothing_up() -> None:
    release = threading.Event()

    class Hanging(FakeServer):
        def ask(self, probe: Probe) -> tuple[dict[str, Any], ...]:
            release.wait(30)
            return ()

    clock = HandClock()
    sampler = Sampler(
        clock=clock,
        emit=lambda _: None,
        watch=Watch,
        line=ServerLine(Hanging().connect, clock),
        probes=[GOOD],
        machine=False,
    )
    sampler.start(clock.now)
    sampler.stop(timeout_s=0.2)
    assert "sampler-server" in str(sampler.cost()["failure"])
    release.set()
