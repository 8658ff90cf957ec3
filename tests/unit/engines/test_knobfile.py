"""The knob file's expressions and rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbdyno.engines.knobfile import evaluate, load_knobs
from dbdyno.model.errors import UsageError
from dbdyno.model.machine import DiskClass, Machine

MACHINE = Machine(memory_bytes=1 << 30, cores=4, disk=DiskClass.SSD, disk_bytes_free=1 << 34)

ROW = """
[[knob]]
name = "a"
title = "A"
low = 1
high = "ram / MiB"
default = 4
source = "a manual (2022)"
"""


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3", 7.0),
        ("min(ram / 4, 100)", 100.0),
        ("-cores // 3", -2.0),
        ("10 if iops > 0 else 20", 20.0),
        ("round(2.6) + max(1, 2)", 5.0),
    ],
)
def test_arithmetic(text: str, value: float) -> None:
    assert evaluate(text, {"ram": 1000.0, "cores": 4.0, "iops": 0.0}) == value


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os')",
        "ram.real",
        "open('x')",
        "[1]",
        "'a' * 3",
        "lambda: 1",
        "1 / 0",
        "1 +",
        "ram ** 9",
        "disk",
        "(1",
    ],
)
def test_everything_else_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        evaluate(text, {"ram": 1000.0})


def load(tmp_path: Path, text: str, version: int = 150000) -> list[str]:
    file = tmp_path / "knobs.toml"
    file.write_text(text)
    return [f"{knob.name} {knob.low} {knob.high}" for knob in load_knobs(file, MACHINE, version).knobs]


def test_ranges_follow_the_machine(tmp_path: Path) -> None:
    assert load(tmp_path, ROW) == ["a 1.0 1024.0"]


def test_rows_are_chosen_by_version(tmp_path: Path) -> None:
    text = ROW + "version_below = 150000\n" + ROW.replace("low = 1", "low = 2") + "version_min = 150000\n"
    assert load(tmp_path, text, 140005) == ["a 1.0 1024.0"]
    assert load(tmp_path, text, 150000) == ["a 2.0 1024.0"]


def test_two_rows_for_one_version_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="more than one row for a"):
        load(tmp_path, ROW + ROW)


def test_a_row_without_a_source_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="row of a"):
        load(tmp_path, ROW.replace('source = "a manual (2022)"', ""))


def test_a_small_machine_keeps_the_lower_end(tmp_path: Path) -> None:
    assert load(tmp_path, ROW.replace("low = 1", "low = 9999")) == ["a 9999.0 9999.0"]
