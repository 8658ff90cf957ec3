"""The sampler on another machine: a lost connection makes its probes unknown, is tried again with pauses, and found."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from dbdyno.hosts.registry import Watch
from dbdyno.hosts.shell import Shell
from dbdyno.hosts.ssh import SshHost
from dbdyno.model.errors import HostError
from dbdyno.model.probe import Sample
from dbdyno.model.run import Outcome, RunStatus
from dbdyno.run.summary import watching_lines
from dbdyno.samples.faraway import LINK, RETRY_S, Faraway
from dbdyno.samples.sampler import Sampler


@dataclass
class Clock:
    """Real, but for what the test adds."""

    ahead_s: float = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self.ahead_s

    def unix(self) -> float:
        return time.time()

    def sleep(self, seconds: float) -> None:
        self.ahead_s += seconds


@dataclass
class Rig:
    """A machine behind a plain shell, whose ticks the test makes."""

    clock: Clock = field(default_factory=Clock)
    shells: list[Shell] = field(default_factory=list)
    refused: int = 0
    attempts: int = 0
    samples: list[Sample] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.machine = Faraway("ssh://db1", self.connect, self.clock)
        self.sampler = Sampler(clock=self.clock, emit=self.samples.append, watch=Watch, machine=self.machine)

    def connect(self) -> Shell:
        self.attempts += 1
        if self.refused:
            self.refused -= 1
            raise HostError("Nothing listens for SSH there: db1.", found="Connection refused")
        host = SshHost("", "db1", "")
        shell = Shell(host, clock=Clock(), token="t1", timeout_s=30.0, command=("sh",))
        self.shells.append(shell)
        return shell

    def tick(self, seconds: float = 1.0) -> None:
        self.clock.sleep(seconds)
        self.sampler._tick(self.sampler._lanes[0], aligned=False)

    def of(self, probe: str) -> list[Sample]:
        return [one for one in self.samples if one.probe == probe]


@pytest.fixture
def rig() -> Iterator[Rig]:
    one = Rig()
    yield one
    one.machine.close()


def test_all_probes_are_asked_there_and_the_connection_is_one_of_them(rig: Rig) -> None:
    rig.tick()
    assert {"cpu", "memory", "writers", LINK.name} <= {probe.name for probe in rig.sampler.probes()}
    assert rig.of("memory")[0].rows
    # What runs there for us is the shell; processes of this machine have no business there.
    assert {row["who"] for row in rig.of("process")[0].rows} == {"dyno"}
    link = rig.of(LINK.name)[0].rows[0]
    assert int(str(link["received_bytes"])) > 1000
    assert abs(float(str(link["clock_offset_s"]))) < 2.0
    cost = rig.sampler.cost()
    assert cost["machine_received_bytes"] == rig.machine.link()[0]["received_bytes"]


def test_a_lost_machine_is_unknown_until_it_is_found_again(rig: Rig) -> None:
    rig.tick()
    rig.shells[0].interrupt()
    rig.refused = 2
    rig.tick()
    lost = rig.of("memory")[-1]
    assert not lost.rows
    assert "db1" in lost.unknown
    for pause in RETRY_S[:2]:
        rig.tick(pause + 0.1)
    asked = rig.attempts
    rig.tick(0.1)
    assert rig.attempts == asked, "not yet again"
    said = len(rig.of("memory"))
    rig.tick(RETRY_S[2])
    assert rig.of("memory")[-1].rows
    assert len(rig.of("memory")) == said + 1, "a reason is written once"
    assert rig.of(LINK.name)[-1].rows[0]["reconnects"] == 1
    assert int(str(rig.of(LINK.name)[-1].rows[0]["received_bytes"])) > int(
        str(rig.of(LINK.name)[0].rows[0]["received_bytes"])
    ), "what was spent before counts"


def test_a_machine_that_cannot_be_reached_at_first_is_an_error() -> None:
    with pytest.raises(HostError, match="Nothing listens"):
        Rig(refused=1)


def test_what_watching_cost_is_told() -> None:
    costs = {"machine_questions": 30, "machine_cpu_s": 0.1, "machine_ms": 500.0, "machine_received_bytes": 400_000,
             "machine_sent_bytes": 20_000, "machine_reconnects": 1, "server_questions": 100, "server_ms": 250.0,
             "server_cpu_s": 0.1, "seconds": 10.0, "server_ticks_skipped": 2}  # fmt: skip
    lines = watching_lines(Outcome(status=RunStatus.DONE, sampling=costs))
    assert lines == [
        "watching: 130 questions, 0.20 s of processor time (2.0% of one core)",
        "  server: 10.0 questions/s, one after the other, 25.0 ms a second",
        "  machine over SSH: 40.0 kB received and 2.0 kB sent a second, 50.0 ms a second, 1 reconnects",
        "  left out because the questions before took too long: 2 ticks",
    ]
    assert watching_lines(Outcome(status=RunStatus.DONE)) == []
