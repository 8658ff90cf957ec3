"""The terminal view: every size fits, gaps are no zeros, hostile words steer nothing, a cut record is read."""

from __future__ import annotations

import asyncio
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dbdyno.model.plan import Phase, Plan
from dbdyno.model.probe import Column, ColumnKind, Probe, Sample
from dbdyno.model.record import to_json
from dbdyno.model.target import Target
from dbdyno.samples.series import SampleStore, Series
from dbdyno.view.app import WatchApp
from dbdyno.view.frame import Look, Scene, bar, clean, frame, resample
from dbdyno.view.gauges import gauges, top_waits
from dbdyno.view.source import RunSource

PROBES = [
    Probe(
        name="server",
        title="server",
        columns=(
            Column(name="commits", kind=ColumnKind.COUNTER, role="commits"),
            Column(name="age", kind=ColumnKind.GAUGE, unit="B", role="checkpoint_distance_bytes"),
            Column(name="limit", kind=ColumnKind.GAUGE, unit="B", role="checkpoint_age_limit_bytes"),
        ),
    ),
    Probe(
        name="waits",
        title="waits",
        columns=(
            Column(name="event", kind=ColumnKind.KEY),
            Column(name="sessions", kind=ColumnKind.GAUGE, role="waiting"),
        ),
    ),
]


def samples(seconds: int = 90, stall: range = range(0)) -> list[Sample]:
    commits, found = 0, []
    for t in range(seconds):
        commits += 0 if t in stall else 1000
        row = {"commits": commits, "age": t * 100, "limit": 10_000}
        found.append(Sample(t_s=float(t), probe="server", rows=(row,)))
        found.append(Sample(t_s=float(t), probe="waits", rows=({"event": "io\x1b[2J", "sessions": 3},)))
    return found


def scene(**more: object) -> Scene:
    store = SampleStore(PROBES, samples(**more))  # type: ignore[arg-type]
    return Scene("sandbox:x/y", store, [], ["the probe replica: \x1b[31mno privilege"])


@given(st.integers(1, 200), st.integers(1, 60), st.floats(0, 200), st.sampled_from([10.0, 60.0, 600.0]))
@settings(max_examples=60, deadline=None)
def test_every_screen_fits_its_terminal(width: int, height: int, end_s: float, span_s: float) -> None:
    lines = frame(scene(), Look(end_s=end_s, span_s=span_s), width, height).plain.split("\n")
    assert len(lines) <= max(height, 1)
    assert all(len(line) <= width for line in lines)


def test_the_screen_names_what_is_seen_and_what_is_not() -> None:
    text = frame(scene(), Look(end_s=89.0), 80, 24).plain
    assert "throughput" in text
    assert "1 000" in text.replace("\u202f", " ").replace("\xa0", " ")
    assert "checkpoint age" in text
    assert "no privilege" in text
    assert "\x1b" not in text


def test_a_stall_is_said_and_a_healthy_record_has_none() -> None:
    assert "stall: 0:5" in frame(scene(stall=range(55, 63)), Look(end_s=89.0), 80, 24).plain
    assert "stall" not in frame(scene(), Look(end_s=89.0), 80, 24).plain


def test_a_gap_is_drawn_as_a_gap() -> None:
    series = Series(np.array([1.0, 2.0, 8.0, 9.0, 10.0]), np.array([5.0, 5.0, 5.0, 5.0, 5.0]), "1/s")
    cells = resample(series, Look(end_s=10.0, span_s=10.0), 10)
    assert np.isnan(cells[4:6]).all()
    assert np.isfinite(cells[[1, 8, 9]]).all()
    assert bar(float("nan"), 5.0) == "·"
    assert bar(0.0, 5.0) == "_"
    assert bar(5.0, 5.0) == "█"


def test_a_limit_is_the_top_of_its_gauge() -> None:
    found = {one.title: one for one in gauges(scene().store, [])}
    assert found["checkpoint age"].limit == 10_000
    assert top_waits(scene().store, 89.0)[0][1] == 3.0
    assert clean("a\x1b]0;x\x07\x9b") == "a?]0;x??"


def test_an_empty_view_waits() -> None:
    text = frame(Scene("t", SampleStore([], []), [], []), Look(end_s=0.0), 80, 24).plain
    assert "waiting for the first samples" in text


def run_folder(path: Path) -> Path:
    target = Target(engine="x", host="h", port=1, user="u", database="d")
    plan = Plan(target=target, phases=(Phase(name="recording"),))
    path.mkdir()
    (path / "plan.json").write_bytes(to_json(plan))
    (path / "probes.json").write_bytes(to_json(PROBES))
    (path / "samples.jsonl").write_bytes(b"".join(to_json(one) + b"\n" for one in samples()))
    return path


@pytest.mark.parametrize("cut", [0, 1, 7, 500, 5001])
def test_a_growing_record_is_followed_wherever_it_is_cut(tmp_path: Path, cut: int) -> None:
    folder = run_folder(tmp_path / "run")
    file = folder / "samples.jsonl"
    whole = file.read_bytes()
    file.write_bytes(whole[:cut])
    source = RunSource(folder)
    assert not source.finished
    with file.open("ab") as stream:
        stream.write(whole[cut:])
    source.refresh()
    assert source.now_s() == 89.0
    assert len(source.store().samples("server")) == 90
    source.close()


def test_the_keys_pause_scroll_and_zoom(tmp_path: Path) -> None:
    source = RunSource(run_folder(tmp_path / "run"))

    async def press() -> list[Look]:
        app = WatchApp(source, live=True)
        seen = []
        async with app.run_test(size=(80, 24)) as pilot:
            for key in ("space", "left", "minus", "plus", "end", "q"):
                seen.append(app.look)
                await pilot.press(key)
        return seen

    start, paused, back, wide, close, follows = asyncio.run(press())
    assert not start.paused
    assert paused.paused
    assert back.end_s == paused.end_s - paused.span_s / 4
    assert wide.span_s > back.span_s
    assert close.span_s == back.span_s
    assert not follows.paused
