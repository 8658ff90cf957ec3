"""Conditions, the ring and the saved incident; metrics by the field's conventions."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import generate_latest
from prometheus_client.core import CollectorRegistry

from dbdyno.model.errors import TargetError, UsageError
from dbdyno.model.plan import Phase, Plan
from dbdyno.model.probe import Column, ColumnKind, Probe, Sample
from dbdyno.model.target import Secret, Target
from dbdyno.run.incidents import Limits, Ring, Watcher
from dbdyno.run.record import open_run
from dbdyno.run.trigger import check_condition, parse_condition
from dbdyno.samples.metrics import Latest, metric_name, serve
from dbdyno.samples.series import SampleStore

PROBES = [
    Probe(
        name="server",
        title="server",
        columns=(
            Column(name="running", kind=ColumnKind.GAUGE, role="waiting"),
            Column(name="log_bytes", kind=ColumnKind.COUNTER, unit="B", role="wal_bytes", help="log written"),
            Column(name="busy_ms", kind=ColumnKind.COUNTER, unit="ms"),
        ),
    ),
    Probe(name="other", title="other", columns=(Column(name="running", kind=ColumnKind.GAUGE),)),
]
TARGET = Target(engine="x", host="h", port=1, user="u", database="d")


def sample(t_s: float, running: float, log_bytes: float = 0.0) -> Sample:
    return Sample(t_s=t_s, probe="server", rows=({"running": running, "log_bytes": log_bytes, "busy_ms": 1500},))


def store(*values: float) -> SampleStore:
    return SampleStore(PROBES, [sample(float(t), value) for t, value in enumerate(values)])


@pytest.mark.parametrize(
    ("values", "now_s", "met"),
    [
        ((60, 60, 60, 60), 3.0, True),
        ((60, 60, 10, 60, 60), 4.0, False),
        ((10, 10, 60), 2.0, False),
        ((60, 60, 60, 60), 9.0, False),  # nothing has been seen for six seconds
        ((), 1.0, False),
    ],
)
def test_a_condition_holds_only_when_it_held_all_the_time(values: tuple[float, ...], now_s: float, met: bool) -> None:
    assert parse_condition("waiting > 50 for 3s").met(store(*values), now_s) is met


def test_counters_are_rates_and_sizes_have_units() -> None:
    condition = parse_condition("server.log_bytes >= 2M")
    samples = [sample(float(t), 0.0, t * 3.0 * 2**20) for t in range(4)]
    assert condition.value == 2 * 2**20
    assert condition.met(SampleStore(PROBES, samples), 3.0)


@pytest.mark.parametrize("text", ["", "waiting", "waiting > x", "waiting > 5 for", "waiting == 5", "> 5", "a b > 3"])
def test_what_is_no_condition_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_condition(text)


def test_names_must_mean_one_thing() -> None:
    check_condition(parse_condition("waiting > 1"), PROBES)
    check_condition(parse_condition("other.running > 1"), PROBES)
    with pytest.raises(UsageError, match="several probes"):
        check_condition(parse_condition("running > 1"), PROBES)
    with pytest.raises(UsageError) as caught:
        check_condition(parse_condition("nonsense > 1"), PROBES)
    assert "waiting" in str(caught.value)


class Clock:
    """Moves while somebody waits."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now

    def unix(self) -> float:
        return 1e9 + self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class Script(threading.Event):
    """Stands for Ctrl-C that never comes; waiting moves the clock and brings samples."""

    def __init__(self, clock: Clock, ring: Ring, running: Iterator[float]) -> None:
        super().__init__()
        self.clock, self.ring, self.running = clock, ring, running

    def wait(self, timeout: float | None = None) -> bool:
        for _ in range(max(1, round(timeout or 1.0))):
            self.clock.now += 1.0
            value = next(self.running, None)
            if value is None:
                self.set()
                return True
            self.ring.take(sample(self.clock.now, value))
        return False


class NoEngine:
    name = "x"

    def connect(self, target: Target, secret: Secret) -> Any:
        raise TargetError("no connection", found="refused")


def watch(tmp_path: Path, values: list[float], **limits: Any) -> tuple[Watcher, list[str]]:
    clock, said = Clock(), []
    ring = Ring(PROBES, span_s=100.0)
    watcher = Watcher(
        Plan(verb="record", target=TARGET, phases=(Phase(name="recording"),)), Secret(None), NoEngine(),  # type: ignore[arg-type]
        clock, [parse_condition("waiting > 50 for 2s")], ring,
        Limits(**{"before_s": 10.0, "after_s": 5.0, "rest_s": 20.0, **limits}),
        lambda number: tmp_path / str(number), (), said.append,
    )  # fmt: skip
    watcher.run(0.0, 0.0, Script(clock, ring, iter(values)))
    return watcher, said


def test_an_incident_holds_what_came_before_and_after_and_starts_at_zero(tmp_path: Path) -> None:
    watcher, said = watch(tmp_path, [1.0] * 30 + [90.0] * 10 + [1.0] * 20)
    assert [folder.name for folder in watcher.saved] == ["1"]
    record = open_run(watcher.saved[0])
    times = [one.t_s for one in record.samples().samples("server")]
    assert min(times) >= 0.0
    assert max(times) == pytest.approx(10.0 + 5.0, abs=1.5)
    values = [one.rows[0]["running"] for one in record.samples().samples("server")]
    assert values[0] == 1.0
    assert values[-1] == 90.0
    assert record.status == "done"
    events = [event["event"] for event in record.events()]
    assert "incident" in events
    # A server that cannot be asked any more is said, and loses nothing.
    assert any(event.get("unknown") == "refused" for event in record.events())
    assert any("saving" in word for word in said)


def test_nothing_is_saved_when_nothing_happens(tmp_path: Path) -> None:
    watcher, _ = watch(tmp_path, [1.0] * 60)
    assert watcher.saved == []


def test_rests_and_limits_hold(tmp_path: Path) -> None:
    watcher, said = watch(tmp_path, [90.0] * 200, incidents_max=3)
    assert len(watcher.saved) == 3
    assert any("which is the most" in word for word in said)
    watcher, said = watch(tmp_path / "small", [90.0] * 200, bytes_max=1)
    assert len(watcher.saved) == 1
    assert any("MiB" in word for word in said)


def test_metrics_follow_the_conventions() -> None:
    latest = Latest(PROBES, "sandbox:x/y")
    latest.take(sample(1.0, 3.0, 7.0))
    latest.take(Sample(t_s=1.0, probe="other", unknown="no privilege"))
    registry = CollectorRegistry()
    registry.register(latest)
    text = generate_latest(registry).decode()
    assert 'dyno_server_log_bytes_total{target="sandbox:x/y"} 7.0' in text
    assert 'dyno_server_busy_seconds_total{target="sandbox:x/y"} 1.5' in text
    assert 'dyno_probe_up{probe="other",target="sandbox:x/y"} 0.0' in text
    assert "dyno_other_running" not in "".join(line for line in text.splitlines(True) if not line.startswith("#"))
    assert metric_name("disk", Column(name="read_bytes", kind=ColumnKind.COUNTER, unit="B")) == (
        "dyno_disk_read_bytes",
        1,
    )


def test_a_wrong_address_is_refused() -> None:
    for address in ("", "host", "host:0", "host:x", ":99999"):
        with pytest.raises(UsageError):
            serve(Latest([], "t"), address)
