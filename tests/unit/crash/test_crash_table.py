"""The table of what was seen keeps the rows whose folders are gone."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest
from proofs import LOSSY, SUBJECT_ARM, losing, plan, process, state

from dbdyno.crash.store import CrashFolder
from dbdyno.crash.verdict import arm_outcome, outcome

ROOT = Path(__file__).parents[3]


@pytest.fixture
def tool(tmp_path: Path) -> Any:
    spec = importlib.util.spec_from_file_location("crash_table", ROOT / "tools" / "crash_table.py")
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.PAGE = tmp_path / "page.md"
    module.PAGE.write_text(f"before\n{module.BEGIN}\n{module.table([])}\n{module.END}\nafter\n")
    return module


def proof(path: Path, **changes: Any) -> Path:
    folder = CrashFolder(path)
    asked = plan(assignment={"sync": "on"}, **changes)
    folder.create(asked)
    results = [process(), state(1), state(2), process(arm="lossy"), losing(3, arm="lossy")]
    arms = [arm_outcome(asked, arm, results) for arm in (SUBJECT_ARM, LOSSY)]
    folder.write_outcome(outcome(asked, arms, status="done"))
    return path


def body(tool: Any) -> list[list[str]]:
    text = tool.PAGE.read_text()
    assert text.startswith("before")
    assert text.endswith("after\n")
    found: list[list[str]] = tool.parse(text.partition(tool.BEGIN)[2].partition(tool.END)[0])
    return found


def test_rows_stay_and_are_replaced(tool: Any, tmp_path: Path) -> None:
    tool.main([str(proof(tmp_path / "a"))])
    first = body(tool)
    assert [row[:4] for row in first] == [
        ["one 1.0", "ext4", "on trial: default", "2"],
        ["one 1.0", "ext4", "control lossy", "1"],
    ]
    tool.main([])
    assert body(tool) == first
    # The same again, elsewhere, and with a name of its own.
    again, there = str(proof(tmp_path / "b")), str(proof(tmp_path / "c", file_system="xfs"))
    tool.main([again, f"{there}=tuned winner"])
    assert body(tool)[:2] == first
    assert [row[1:3] for row in body(tool)[2:]] == [["xfs", "on trial: tuned winner"], ["xfs", "control lossy"]]


def test_a_table_of_fewer_columns_is_understood(tool: Any) -> None:
    heads = "| server | file system | configuration | states | level |"
    old = f"{heads}\n| --- | --- | --- | --- | --- |\n| a | b | c | 5 |  |"
    (row,) = tool.parse(old)
    assert dict(zip(tool.HEADS, row, strict=True))["states"] == "5"
    assert row[:3] == ["a", "b", "c"]
    assert set(row[4:]) == {""}
