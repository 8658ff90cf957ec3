"""Run folders: every cut of every file leaves a record that can be read; other formats are refused in words."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from dbdyno.model.errors import RecordError
from dbdyno.model.fact import Fact
from dbdyno.model.plan import Phase, Plan, WorkloadSpec
from dbdyno.model.probe import Probe, Sample
from dbdyno.model.run import Outcome, RunStatus
from dbdyno.model.target import Target
from dbdyno.run.execute import outcome_of
from dbdyno.run.record import RunWriter, open_run
from dbdyno.run.summary import summary_lines

FORMAT_1 = Path(__file__).parents[2] / "fixtures/runs/format-1"
TARGET = Target(engine="e", host="/tmp", port=1, user="u", database="d")
PLAN = Plan(target=TARGET, workload=WorkloadSpec(name="w"), phases=(Phase(name="measure", time_s=2),))


def times(count: int) -> dict[str, object]:
    return {"count": count, "mean_us": 10.0, "max_us": 20.0, "p50_us": 10.0, "hdr": ""}


def interval(t_s: float, count: int) -> bytes:
    event = {
        "event": "interval", "t_s": t_s, "phase": "measure", "seconds": 1.0, "threads": 1,
        "transactions": {"new": {"count": count, "errors": {}, "retries": 0, "rollbacks": 0}},
        "statements": {"read": count, "write": 0, "other": 0}, "reconnects": 0,
        "response": times(count), "service": times(count),
    }  # fmt: skip
    return json.dumps(event).encode()


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A whole run of a few lines."""
    writer = RunWriter(tmp_path / "run", PLAN, started_unix_s=5.0)
    writer.probes([Probe(name="p", title="t", columns=())])
    writer.facts("before", [Fact(name="host.cores", value=2), Fact(name="x", unknown="no")])
    writer.event(interval(1.0, 5))
    writer.event(interval(2.0, 7))
    writer.sample(Sample(t_s=0.5, probe="p", rows=({"a": 1},)))
    writer.facts("after", [Fact(name="host.cores", value=2)])
    writer.finish(Outcome(status=RunStatus.DONE))
    return tmp_path / "run"


def test_what_was_written_is_read(small: Path) -> None:
    record = open_run(small)
    assert record.plan == PLAN
    assert record.started_unix_s == 5.0
    assert record.outcome == Outcome(status=RunStatus.DONE)
    assert [fact.name for fact in record.facts("before")] == ["host.cores", "x"]
    assert len(record.facts()) == 3
    assert len(record.intervals("measure")) == 2
    assert record.samples().probes() == ["p"]
    assert record.unreadable_lines == 0


@pytest.mark.parametrize("name", ["facts.jsonl", "events.jsonl", "samples.jsonl", "outcome.json", "probes.json"])
def test_every_cut_leaves_a_readable_record(small: Path, name: str) -> None:
    whole = (small / name).read_bytes()
    for end in range(len(whole)):
        (small / name).write_bytes(whole[:end])
        record = open_run(small)
        # A cut loses at most the line that it is in.
        lines = whole[:end].count(b"\n")
        read = {
            "facts.jsonl": len(record.facts()),
            "events.jsonl": len(record.events()),
            "samples.jsonl": len(record.samples().samples("p")),
        }
        if name in read:
            assert lines <= read[name] <= lines + 1
            assert record.unreadable_lines <= 1
        outcome = record.outcome or outcome_of(record, status=record.status)
        assert summary_lines(outcome) is not None


def test_without_an_outcome_the_intervals_tell(small: Path) -> None:
    (small / "outcome.json").unlink()
    record = open_run(small)
    assert record.outcome is None
    assert record.status is RunStatus.RUNNING
    (phase,) = outcome_of(record, status=record.status).phases
    assert (phase.phase, phase.count, phase.seconds, phase.tps, phase.measured) == ("measure", 12, 2.0, 6.0, True)


def test_rubbish_in_the_middle_is_counted_and_left_out(small: Path) -> None:
    lines = (small / "events.jsonl").read_bytes().splitlines()
    rubbish = [b"\xff\x00", b"17", b'{"t_s": 1}', b"[]"]
    (small / "events.jsonl").write_bytes(b"\n".join([lines[0], *rubbish, lines[1]]) + b"\n")
    record = open_run(small)
    assert len(record.intervals()) == 2
    assert record.unreadable_lines == 4


@pytest.mark.parametrize("cut", [0, 1, 30, -3])
def test_a_damaged_plan_is_refused(small: Path, cut: int) -> None:
    (small / "plan.json").write_bytes((small / "plan.json").read_bytes()[:cut])
    with pytest.raises(RecordError, match="damaged"):
        open_run(small)


@pytest.mark.parametrize(("version", "todo"), [(2, "newer dyno"), (0, ""), ("x", "")])
def test_another_format_is_refused_in_words(small: Path, version: object, todo: str) -> None:
    plan = json.loads((small / "plan.json").read_bytes()) | {"format": version}
    (small / "plan.json").write_text(json.dumps(plan))
    with pytest.raises(RecordError) as caught:
        open_run(small)
    assert f"format {version}" in caught.value.what
    assert todo in caught.value.todo


def test_a_later_minor_field_is_ignored(small: Path) -> None:
    plan = json.loads((small / "plan.json").read_bytes()) | {"of_the_future": 1}
    (small / "plan.json").write_text(json.dumps(plan))
    assert open_run(small).plan == PLAN


def test_what_is_no_run_folder_is_said(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="not a run folder"):
        open_run(tmp_path)


def test_a_folder_is_not_written_twice(small: Path) -> None:
    with pytest.raises(RecordError, match="holds a run already"):
        RunWriter(small, PLAN, started_unix_s=0)


def test_after_the_end_late_samples_are_dropped(small: Path, tmp_path: Path) -> None:
    writer = RunWriter(tmp_path / "other", PLAN, started_unix_s=0)
    writer.finish(Outcome(status=RunStatus.DONE))
    writer.sample(Sample(t_s=1, probe="p"))
    assert open_run(tmp_path / "other").samples().samples("p") == []


def test_format_1_stays_readable(tmp_path: Path) -> None:
    """A real run of format 1: it must be readable by every later version, without being written to."""
    shutil.copytree(FORMAT_1, tmp_path / "copy")
    record = open_run(tmp_path / "copy")
    assert record.unreadable_lines == 0
    assert record.outcome is not None
    measure = record.outcome.phase("measure")
    assert measure is not None
    assert measure.count == sum(one["count"] for one in measure.transactions.values()) > 0
    assert measure.figures["nopm"] > 0
    store = record.samples()
    assert {"wal", "database", "cpu", "process"} <= set(store.probes())
    rates = store.by_role("wal_bytes")
    assert rates is not None
    assert rates.mean() > 0
    assert record.outcome.server["wal_bytes"] > 0  # type: ignore[operator]
    again = outcome_of(record, status=RunStatus.DONE)
    assert again.server == record.outcome.server
    assert again.phases == record.outcome.phases
