"""`dyno bench` on a real server: what it records, and what it says and leaves when something breaks."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sandbox_tools import ask, temporary_home

from dbdyno.cli.common import SystemClock
from dbdyno.engines.registry import engine_named
from dbdyno.model.errors import DriverError, HostError
from dbdyno.model.plan import LoopMode, Phase, Plan, WorkloadSpec
from dbdyno.model.run import Doubt, RunStatus
from dbdyno.run.driver import check_dataset, find_driver, load_dataset
from dbdyno.run.execute import execute
from dbdyno.run.record import open_run
from dbdyno.sandbox.options import SandboxOptions
from dbdyno.sandbox.sandbox import Sandbox, create

SMALL = WorkloadSpec(name="oltp_read_write", options={"tables": "1", "table_size": "1000"})
OPTIONS = ["--tables=1", "--table-size=1000"]


@pytest.fixture(scope="module")
def box() -> Iterator[Sandbox]:
    """A running server with a small dataset."""
    try:
        find_driver()
    except HostError as error:
        pytest.skip(str(error))
    clock = SystemClock()
    with temporary_home(clock) as home:
        box = create(home, engine_named("postgresql"), "bench", SandboxOptions(), clock=clock)
        with box.held():
            box.start()
            load_dataset(box.target, box.secret, SMALL, threads=2, seed=1)
            yield box


def run(
    box: Sandbox,
    folder: Path,
    *phases: Phase,
    on_event: Callable[[dict[str, Any]], None] | None = None,
    stop: threading.Event | None = None,
) -> Any:
    plan = Plan(
        target=box.target, workload=SMALL, threads=2, seed=7, phases=phases or (Phase(name="measure", time_s=2),)
    )
    return execute(
        plan, box.secret, box.engine, clock=SystemClock(), folder=folder, server_pids=box.server_pids,
        device=box.device(), data_folder=box.folder, on_event=on_event, stop=stop,
    )  # fmt: skip


def at_second(n: int, do: Callable[[dict[str, Any]], None]) -> Callable[[dict[str, Any]], None]:
    """Does it once, when the driver's n-th interval is over."""
    seen = []

    def listen(event: dict[str, Any]) -> None:
        if event["event"] == "interval":
            seen.append(event)
            if len(seen) == n:
                do(event)

    return listen


def test_a_run_is_recorded_whole(box: Sandbox, tmp_path: Path) -> None:
    phases = (
        Phase(name="warmup", time_s=1, measured=False),
        Phase(name="measure", time_s=3),
        Phase(name="rate", mode=LoopMode.OPEN, rate_per_s=20, time_s=2),
    )
    outcome = run(box, tmp_path / "run", *phases)
    assert outcome.status is RunStatus.DONE
    assert [phase.phase for phase in outcome.phases] == ["warmup", "measure", "rate"]
    assert [phase.measured for phase in outcome.phases] == [False, True, True]
    measure = outcome.phases[1]
    assert measure.count > 0
    assert measure.response.count == measure.count
    assert measure.driver_cpu_us_per_transaction > 0
    record = open_run(tmp_path / "run")
    assert record.outcome == outcome
    assert record.unreadable_lines == 0
    assert len(record.intervals("measure")) >= 3
    store = record.samples()
    assert {"wal", "checkpoints", "database", "cpu", "disk", "memory", "process"} <= set(store.probes())
    assert set(store.keys("process")) == {"dyno", "driver", "server"}
    assert store.unknown() == {}
    assert outcome.server["wal_bytes"] > 0
    assert outcome.server["server_cpu_s"] > 0
    assert outcome.server["write_bytes"] > 0
    names = {fact.name for fact in record.facts("before")}
    assert {"server.version", "setting.shared_buffers", "host.kernel", "host.filesystem"} <= names
    assert {fact.name for fact in record.facts("after")} == names
    assert Doubt.DRIVER_ON_SERVER_HOST in {note.doubt for note in outcome.doubts}
    assert outcome.sampling["server_failed"] == 0


def test_samples_stand_at_the_edges_of_phases(box: Sandbox, tmp_path: Path) -> None:
    run(box, tmp_path / "run")
    record = open_run(tmp_path / "run")
    edges = [event["t_s"] for event in record.events() if event["event"] == "phase"]
    asked = [sample.t_s for sample in record.samples().samples("wal")]
    for edge in edges:
        assert min(abs(t - edge) for t in asked) < 0.7, (edge, asked)


def test_the_driver_killed_leaves_a_record_and_is_said(box: Sandbox, tmp_path: Path) -> None:
    pids: list[int] = []

    def kill(event: dict[str, Any]) -> None:
        os.kill(pids[0], signal.SIGKILL)

    def listen(event: dict[str, Any]) -> None:
        if event["event"] == "hello":
            pids.append(event["pid"])
        second(event)

    second = at_second(2, kill)
    with pytest.raises(DriverError, match="SIGKILL"):
        run(box, tmp_path / "run", Phase(name="measure", time_s=30), on_event=listen)
    record = open_run(tmp_path / "run")
    assert record.outcome is not None
    assert record.outcome.status is RunStatus.FAILED
    assert "SIGKILL" in record.outcome.error
    (phase,) = record.outcome.phases
    assert phase.count > 0
    assert phase.response.p99_us > 0
    assert {fact.name for fact in record.facts("after")} >= {"server.version"}


def test_a_stop_ends_the_run_in_order(box: Sandbox, tmp_path: Path) -> None:
    stop = threading.Event()
    outcome = run(
        box, tmp_path / "run", Phase(name="measure", time_s=60), on_event=at_second(2, lambda _: stop.set()), stop=stop
    )
    assert outcome.status is RunStatus.INTERRUPTED
    assert Doubt.INTERRUPTED in {note.doubt for note in outcome.doubts}
    assert outcome.phases[0].count > 0
    assert open_run(tmp_path / "run").events()[-2]["event"] == "bye"


def test_the_server_killed_is_an_error_or_a_doubt_never_a_result(box: Sandbox, tmp_path: Path) -> None:
    def crash(_: dict[str, Any]) -> None:
        box.crash()
        box.recover(timeout_s=60)

    outcome = run(box, tmp_path / "run", Phase(name="measure", time_s=15), on_event=at_second(2, crash))
    doubts = {note.doubt for note in outcome.doubts}
    assert Doubt.RECONNECTS in doubts
    assert Doubt.SERVER_RESTARTED in doubts
    assert all(note.doubt.grave for note in outcome.doubts[:2])
    record = open_run(tmp_path / "run")
    assert any(sample.unknown for sample in record.samples().samples("wal"))
    assert record.samples().unknown() == {}
    assert outcome.sampling["server_reconnects"] == 1


def test_a_server_that_stays_away_ends_the_run(box: Sandbox, tmp_path: Path) -> None:
    plan = Plan(
        target=box.target, workload=SMALL, threads=2, reconnects_max=2, phases=(Phase(name="measure", time_s=60),)
    )
    try:
        with pytest.raises(DriverError) as caught:
            execute(
                plan, box.secret, box.engine, clock=SystemClock(), folder=tmp_path / "run",
                on_event=at_second(2, lambda _: box.crash()),
            )  # fmt: skip
        assert caught.value.code == "connect"
        record = open_run(tmp_path / "run")
        assert record.outcome is not None
        assert record.outcome.status is RunStatus.FAILED
        assert record.outcome.phases[0].count > 0
        (after,) = [fact for fact in record.facts("after") if fact.name == "server.version"]
        assert after.unknown
    finally:
        box.start() if not box.running() else None


def test_checks_pass_on_what_was_loaded(box: Sandbox) -> None:
    checks = check_dataset(box.target, box.secret, SMALL)
    assert {check["verdict"] for check in checks} <= {"pass"}


# The command itself.


def dyno(*words: str, home: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*words), env=surroundings(home, environment), capture_output=True, text=True, check=False, timeout=120
    )


def command(*words: str) -> list[str]:
    return [sys.executable, "-c", "from dbdyno.cli.main import main; main()", *words]


def surroundings(home: Path, more: dict[str, str]) -> dict[str, str]:
    return os.environ | {"DYNO_HOME": str(home)} | more


@pytest.fixture
def url(box: Sandbox) -> str:
    """The server as a stranger's: by its port, with a user that needs a password."""
    ask(
        box,
        "DO $$ BEGIN CREATE ROLE loader LOGIN SUPERUSER PASSWORD 'right'; EXCEPTION WHEN duplicate_object THEN END $$",
    )
    return f"postgresql://loader@127.0.0.1:{box.target.port}/{box.target.database}"


def test_the_command_shows_and_records(box: Sandbox, url: str, tmp_path: Path) -> None:
    words = ["bench", url, "oltp_read_write", *OPTIONS, "--threads", "2", "--time", "2", "--allow", "load"]
    done = dyno(*words, "--name", "mine", home=tmp_path, PGPASSWORD="right")
    assert done.returncode == 0, done.stderr
    assert done.stdout.index("note ") < done.stdout.index("measure (")
    assert "p99.9" in done.stdout
    assert "right" not in (tmp_path / "runs/mine/plan.json").read_text()
    shown = dyno("show", "mi", home=tmp_path)
    assert shown.returncode == 0
    assert "transactions of all types" in shown.stdout
    (listed,) = json.loads(dyno("list", "--format", "json", home=tmp_path).stdout)
    assert (listed["name"], listed["status"]) == ("mine", "done")
    plain = dyno(*words, "--format", "sysbench", home=tmp_path, PGPASSWORD="right").stdout.splitlines()
    assert plain[0].startswith("[ 1s ] thds: 2 tps: ")
    assert "Threads fairness:" in plain
    answer = json.loads(dyno(*words, "--format", "json", home=tmp_path, PGPASSWORD="right").stdout)
    assert answer["outcome"]["status"] == "done"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"oltp_read_write": "oltp_read_writ"}, "did you mean oltp_read_write?"),
        ({"--table-size=1000": "--table-sice=1000"}, "did you mean table_size?"),
        ({"--tables=1": "--scale=0"}, "--scale 0"),
        ({"load": ""}, "add --allow load"),
        ({"127.0.0.1": "127.0.0.1:1"}, "Connection refused"),
        ({"right": "wrong"}, "password"),
    ],
)
def test_mistakes_get_one_clear_message(
    box: Sandbox, url: str, tmp_path: Path, change: dict[str, str], says: str
) -> None:
    ((old, new),) = change.items()
    password = "wrong" if old == "right" else "right"
    target = url.replace(f":{box.target.port}/", ":1/") if old == "127.0.0.1" else url
    words = ["bench", target, "oltp_read_write", *OPTIONS, "--time", "1", "--allow", "load"]
    words = [new if word == old else word for word in words]
    words = words[:-2] if old == "load" else words
    done = dyno(*words, home=tmp_path, PGPASSWORD=password)
    if old == "right" and done.returncode == 0:
        pytest.skip("this server lets everyone in from here without a password")
    assert done.returncode == 2, done.stdout
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 130)])
def test_ctrl_c_ends_with_a_summary(
    box: Sandbox, url: str, tmp_path: Path, number: signal.Signals, status: int
) -> None:
    words = ["bench", url, "oltp_read_write", *OPTIONS, "--threads", "2", "--time", "60", "--allow", "load"]
    process = subprocess.Popen(
        command(*words, "--name", "cut"), env=surroundings(tmp_path, {"PGPASSWORD": "right"}), stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    first = process.stdout.readline()
    process.send_signal(number)
    rest, errors = process.communicate(timeout=60)
    assert process.returncode == status, errors
    assert "tps" in first
    assert "DOUBT The run was stopped before its end." in rest
    outcome = open_run(tmp_path / "runs/cut").outcome
    assert outcome is not None
    assert outcome.status is RunStatus.INTERRUPTED


def test_dyno_killed_leaves_a_readable_record_and_no_driver(box: Sandbox, url: str, tmp_path: Path) -> None:
    words = ["bench", url, "oltp_read_write", *OPTIONS, "--threads", "2", "--time", "60", "--allow", "load"]
    process = subprocess.Popen(
        command(*words, "--name", "killed"), env=surroundings(tmp_path, {"PGPASSWORD": "right"}),
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    process.stdout.readline()
    process.kill()
    process.communicate(timeout=60)
    record = open_run(tmp_path / "runs/killed")
    assert record.outcome is None
    assert record.intervals()
    shown = dyno("show", "killed", home=tmp_path)
    assert "DOUBT The record has no end" in shown.stdout
    query = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'loader'"
    with psycopg.connect(host=box.target.host, port=box.target.port, user=box.target.user,
                         dbname=box.target.database, autocommit=True) as connection:  # fmt: skip
        for _ in range(200):
            row = connection.execute(query).fetchone()
            if row == (0,):
                break
            connection.execute("SELECT pg_sleep(0.1)")
    assert row == (0,), "the driver went on after dyno was killed"
