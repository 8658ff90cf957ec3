"""Texts that people send: tables in many shapes, versions in many words, numbers of many countries."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbdyno.engines.dumptext import clean, is_cloud, number, numeric_version, pairs, table_rows


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("5.7.44-48-log", (5, 7, 44)),
        ("10.11.19-MariaDB-0+deb12u1", (10, 11, 19)),
        ("5.5.5-10.11.19-MariaDB", (10, 11, 19)),
        ("8.0.36-28.1", (8, 0, 36)),
        ("8.0.mysql_aurora.3.05.2", (8, 0)),
        ("PostgreSQL 15.3 (Debian 15.3-1.pgdg110+1) on x86_64-pc-linux-gnu", (15, 3)),
        ("v7.0.14", (7, 0, 14)),
        ("17beta1", (17,)),
        ("banana", ()),
        ("", ()),
    ],
)
def test_versions(text: str, version: tuple[int, ...]) -> None:
    assert numeric_version(text) == version


@pytest.mark.parametrize(
    ("text", "cloud"),
    [("8.0.mysql_aurora.3.05.2", True), ("8.0.35-azure", True), ("MySQL RDS", True), ("15.3 (Debian)", False)],
)
def test_managed_services(text: str, cloud: bool) -> None:
    assert is_cloud(text) is cloud


@pytest.mark.parametrize(
    "text",
    [
        "Variable_name\tValue\na\t1\nb\tx y\n",
        "+---+-----+\n| Variable_name | Value |\n+---+-----+\n| a | 1 |\n| b | x y |\n+---+-----+\n",
        "a,1\nb,x y\n",
        'a;1\nb;"x y"\n',
        "a = 1\nb = x y\n",
        "*** 1. row ***\nVariable_name: a\nValue: 1\n*** 2. row ***\nVariable_name: b\nValue: x y\n",
        "\ufeffa,1\r\nb,x y\r\n",
    ],
    ids=["tabs", "boxes", "commas", "semicolons", "assignments", "vertical", "windows"],
)
def test_pairs(text: str) -> None:
    assert pairs(text) == {"a": "1", "b": "x y"}


@pytest.mark.parametrize(
    ("text", "value"),
    [("1234.5", 1234.5), ("1,234.5", 1234.5), ("1.234,5", 1234.5), ("1 234", 1234.0), ("0,25", 0.25), ("x", None)],
)
def test_numbers_of_many_countries(text: str, value: float | None) -> None:
    assert number(text) == value


@given(st.text(max_size=300))
def test_no_text_breaks_the_readers(text: str) -> None:
    rows = list(table_rows(text))
    assert all(isinstance(cell, str) for row in rows for cell in row)
    assert "\0" not in clean(text)
    assert all(isinstance(value, str) for value in pairs(text).values())
    number(text)
    assert all(part >= 0 for part in numeric_version(text))
