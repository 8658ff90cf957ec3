"""How answers become rows, whatever the server."""

from __future__ import annotations

import sys
import types
from pathlib import Path

import pytest

from dbdyno.engines.probefile import load_probes, parse_probe, shaped
from dbdyno.model.errors import TargetError, UsageError

HEADER = """-- name: {name}
-- title: A question
-- version_min: {version_min}
-- cost: cheap
-- shape: {shape}
-- columns:
--   reads_total: counter [pages] - pages read
--   is_on: gauge - a switch
--   word: text - a word
{query}
"""


def probe_text(shape: str, *, name: str = "q", version_min: int = 0, more: str = "") -> str:
    text = HEADER.format(name=name, version_min=version_min, shape=shape, query="SHOW SOMETHING")
    return text.replace("-- cost:", more + "-- cost:")


def test_a_pivot_makes_one_row_of_names_and_values() -> None:
    probe = parse_probe(probe_text("pivot"), where="x")
    rows = [("Reads-Total", "18446744073709551615"), ("Is_On", "ON"), ("Other", "1")]
    assert shaped(probe, ["name", "value"], rows) == ({"reads_total": 18446744073709551615, "is_on": 1},)


def test_a_column_that_the_server_lacks_is_absent_and_nothing_at_all_is_an_error() -> None:
    probe = parse_probe(probe_text("pivot"), where="x")
    assert shaped(probe, ["n", "v"], [("word", "12")]) == ({"word": "12"},)
    assert shaped(probe, ["n", "v"], [("is_on", "perhaps"), ("reads_total", 2.5)]) == (
        {"reads_total": 2.5, "is_on": None},
    )
    with pytest.raises(TargetError, match="holds nothing"):
        shaped(probe, ["n", "v"], [("other", "1")])


def test_rows_keep_only_the_columns_of_the_header() -> None:
    probe = parse_probe(probe_text("rows"), where="x")
    assert shaped(probe, ["Reads_Total", "Else"], [("5", 1), ("6.5", 2)]) == (
        {"reads_total": 5},
        {"reads_total": 6.5},
    )
    assert shaped(probe, ["Reads_Total"], []) == ()


def test_a_text_goes_to_a_function(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("dbdyno.engines.some.reading")
    module.read = lambda text: {"reads_total": len(text.split()), "word": text[:3], "more": 1}  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    probe = parse_probe(probe_text("parse:dbdyno.engines.some.reading.read"), where="x")
    rows = [("T", "", "abc d"), ("T", "", "e")]
    assert shaped(probe, ["Type", "Name", "Status"], rows) == ({"reads_total": 3, "word": "abc"},)


@pytest.mark.parametrize("shape", ["table", "parse:", "parse:f", "parse:os.path; x.y", "pivot:"])
def test_an_unknown_shape_is_refused(shape: str) -> None:
    with pytest.raises(UsageError, match="unknown shape"):
        parse_probe(probe_text(shape), where="x")


def test_ranges_and_shared_folders(tmp_path: Path) -> None:
    own, shared = tmp_path / "own" / "probes", tmp_path / "_shared" / "probes"
    for folder in (own, shared):
        folder.mkdir(parents=True)
    (own / "q.0.sql").write_text(probe_text("rows", more="-- version_below: 100\n"), encoding="utf-8")
    (shared / "s.50.sql").write_text(probe_text("parse:texts.read", name="s", version_min=50), encoding="utf-8")
    assert [probe.name for probe in load_probes(own, 40, shared)] == ["q"]
    assert [probe.name for probe in load_probes(own, 60, shared)] == ["q", "s"]
    found = load_probes(own, 100, shared)
    assert [probe.name for probe in found] == ["s"]
    assert found[0].shape == "parse:dbdyno.engines._shared.texts.read"
