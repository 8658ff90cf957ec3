"""Reports of runs: whole, cut, damaged, hostile."""

from __future__ import annotations

import html
import json
import re
import shutil
from pathlib import Path

import make_study
import msgspec
import pytest

from dbdyno.model.errors import RecordError
from dbdyno.model.record import to_json
from dbdyno.report.runs import render_run, write_run_report
from dbdyno.report.runview import view_run
from dbdyno.report.text import run_text

HOSTILE = "</script><script>alert('x')</script><img src=x onerror=alert(1)> & \u2028 \x1b[31m'\""


def data_of(page: str) -> dict[str, object]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert found is not None
    decoded = json.loads(found[1])
    assert isinstance(decoded, dict)
    return decoded


def test_figures_come_from_the_outcome(run: Path) -> None:
    view = view_run(run)
    outcome = json.loads((run / "outcome.json").read_text())
    measure = next(phase for phase in outcome["phases"] if phase["phase"] == "measure")
    tiles = {tile.name: tile for tile in view.phases[0].tiles}
    assert view.phases[0].name == "measure"
    assert float(tiles["throughput"].value.replace("\u202f", "")) == pytest.approx(measure["tps"], rel=0.005)
    assert float(tiles["response p99"].value) == pytest.approx(measure["response"]["p99_us"] / 1e3, rel=0.005)
    assert "NOPM" in tiles
    assert [phase.name for phase in view.phases] == ["measure", "rate"], "the warm-up is not measured"
    assert [note.kind for note in view.doubts] == ["driver_on_server_host"]


def test_charts_are_chosen_by_role_and_share_one_group(run: Path) -> None:
    view = view_run(run)
    ids = [chart.id for chart in view.server_charts]
    wanted = ["wal", "pages", "hits", "waits", "cpu", "iops", "await", "dirty", "pressure"]
    assert [f"run-{name}" in ids for name in wanted] == [True] * len(wanted)
    charts = [*view.load_charts, *view.server_charts]
    assert {chart.group for chart in charts} == {"run"}
    assert [chart.id for chart in charts if chart.last] == [charts[-1].id]
    for chart in charts:
        assert all(len(line.values) == len(chart.x) for line in chart.lines), chart.id
    hits = next(chart for chart in charts if chart.id == "run-hits")
    known = [value for value in hits.lines[0].values if value is not None]
    assert all(97 < value < 99 for value in known)


def test_checkpoints_are_marked_when_their_counters_rise(tmp_path: Path) -> None:
    view = view_run(make_study.make_run(tmp_path / "r", measure_s=100, checkpoint_s=40, warmup_s=0, rate_s=0))
    marks = [(mark.kind, round(mark.t_s)) for mark in view.load_charts[0].marks if mark.kind != "phase"]
    assert marks == [("timed", 40), ("forced", 80)]


def test_a_cut_run_shows_what_is_there(tmp_path: Path) -> None:
    cut = make_study.make_run(tmp_path / "cut", cut=True, torn=True, warmup_s=0, measure_s=40)
    view = view_run(cut)
    assert view.status == "cut off"
    assert view.doubts[0].grave
    assert any("1 lines of the record" in note.says for note in view.doubts)
    assert view.phases[0].name == "measure"
    assert view.distributions[0].curves, "histograms of the intervals are merged"
    assert "cut off" in render_run(view)


@pytest.mark.parametrize("name", ["events.jsonl", "samples.jsonl", "facts.jsonl", "outcome.json", "probes.json"])
@pytest.mark.parametrize("how", ["missing", "empty", "garbage"])
def test_any_file_may_be_missing_or_damaged(run: Path, tmp_path: Path, name: str, how: str) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(run, copy)
    if how == "missing":
        (copy / name).unlink()
    else:
        (copy / name).write_bytes(b"" if how == "empty" else b"\xff\xfe{not json\n[1, 2\n")
    page = write_run_report(copy).read_text()
    assert "</html>" in page
    assert run_text(view_run(copy))


def test_an_empty_run_is_told_in_words(run: Path, tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_bytes((run / "plan.json").read_bytes())
    view = view_run(tmp_path)
    assert set(view.gone) == {"load", "phases", "samples", "latency"}
    assert view.says == "The run holds no measured transaction."
    page = render_run(view)
    assert all(html.escape(text, quote=True).replace("&#x27;", "&#39;") in page for text in view.gone.values())


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="not a run"):
        write_run_report(tmp_path)


def test_a_report_that_cannot_be_written_is_told(run: Path, tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="cannot be written"):
        write_run_report(run, tmp_path / "no" / "such" / "folder.html")


def test_hostile_words_stay_words(tmp_path: Path) -> None:
    folder = make_study.make_run(tmp_path / "bad", hostile=HOSTILE, warmup_s=0, measure_s=10, rate_s=0)
    page = write_run_report(folder).read_text()
    assert "<script>alert" not in page
    assert "<img" not in page
    assert page.count("</script>") == 3, "data, uPlot and our own script, no more"
    assert "&lt;/script&gt;&lt;script&gt;alert" in page
    text = run_text(view_run(folder))
    assert "\x1b" not in text
    assert "\\x1b[31m" in text


def test_hostile_words_in_the_data_cannot_end_the_script(run: Path) -> None:
    view = view_run(run)
    line = msgspec.structs.replace(view.load_charts[0].lines[0], label=HOSTILE)
    view = msgspec.structs.replace(view, load_charts=[msgspec.structs.replace(view.load_charts[0], lines=[line])])
    page = render_run(view)
    assert page.count("</script>") == 3
    assert "\u2028" not in page
    charts = data_of(page)["charts"]
    assert isinstance(charts, list)
    assert charts[0]["lines"][0]["label"] == HOSTILE, "and yet nothing is lost"


def test_same_folder_same_bytes(run: Path, tmp_path: Path) -> None:
    one, two = tmp_path / "one.html", tmp_path / "two.html"
    assert write_run_report(run, one).read_bytes() == write_run_report(run, two).read_bytes()
    assert to_json(view_run(run)) == to_json(view_run(run))


def test_nothing_is_loaded_from_anywhere(run: Path) -> None:
    page = write_run_report(run).read_text()
    assert re.findall(r"""(?:src|href)=["'](?:https?:)?//""", page) == []
    assert not re.search(r"url\((?!data:)", page)
    assert "default-src 'none'" in html.unescape(page)


def test_links_are_relative_to_where_the_report_lies(run: Path, tmp_path: Path) -> None:
    inside = view_run(run, run)
    assert "plan.json" in [link.href for link in inside.links]
    elsewhere = view_run(run, tmp_path)
    assert all((tmp_path / link.href).resolve().is_file() for link in elsewhere.links)


@pytest.mark.slow
def test_ten_hours_stay_small(tmp_path: Path) -> None:
    """Ten hours by the second: intervals repeated from one short run, so that the test is quick."""
    short = make_study.make_run(tmp_path / "long", measure_s=60, warmup_s=0, rate_s=0)
    events = [json.loads(line) for line in (short / "events.jsonl").read_text().splitlines()]
    intervals = [event for event in events if event["event"] == "interval"]
    for event in intervals:
        for which in ("response", "service"):
            del event[which]["hdr"]
    samples = [json.loads(line) for line in (short / "samples.jsonl").read_text().splitlines()]
    with (short / "events.jsonl").open("w") as file:
        for index in range(36_000):
            file.write(json.dumps(intervals[index % 60] | {"t_s": index + 1.0}) + "\n")
    with (short / "samples.jsonl").open("w") as file:
        for hour in range(50):
            for sample in samples:
                file.write(json.dumps(sample | {"t_s": sample["t_s"] + hour * 720}) + "\n")
    written = write_run_report(short)
    assert written.stat().st_size < 5_000_000
    charts = data_of(written.read_text())["charts"]
    assert isinstance(charts, list)
    assert max(len(chart["x"]) for chart in charts) <= 2000
    assert all(charts[0]["lines"][0][end] for end in ("low", "high"))
