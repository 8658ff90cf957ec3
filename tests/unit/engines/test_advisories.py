"""What is known of versions says where it comes from, and is about versions in their order."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from typing import Any

import pytest

from dbdyno.engines._mysql import facts as family
from dbdyno.engines.postgresql import facts as postgresql

TABLES = {"family": family.advisories(), "postgresql": postgresql.advisories()}


def rows(table: Any) -> Iterator[dict[str, Any]]:
    """All rows, however deep they lie."""
    if isinstance(table, list):
        for one in table:
            yield from rows(one)
    elif isinstance(table, dict) and ("day" in table or "says" in table or "gone" in table):
        yield table
    elif isinstance(table, dict):
        for one in table.values():
            yield from rows(one)


@pytest.mark.parametrize("name", TABLES)
def test_each_row_has_a_source_with_its_year(name: str) -> None:
    found = list(rows(TABLES[name]))
    assert len(found) > 15
    for row in found:
        assert re.search(r"\b20\d\d\b", row["source"]), row
        if "day" in row:
            datetime.date.fromisoformat(row["day"])


@pytest.mark.parametrize("product", TABLES["family"]["end_of_life"])
def test_long_support_ends_in_the_order_of_the_series(product: str) -> None:
    table = TABLES["family"]["end_of_life"][product]
    series = sorted(table, key=lambda one: [int(part) for part in one.split(".")])
    assert list(table) == series, "the rows are in their order"
    long = {"mysql": ["5.7", "8.0", "8.4", "9.7"], "mariadb": ["10.3", "10.4", "10.5", "10.6", "10.11"]}[product]
    days = [table[one]["day"] for one in long]
    assert days == sorted(days)


def test_faults_end_after_they_begin_and_within_the_series() -> None:
    for row in TABLES["family"]["fault"]:
        assert row["version_min"] < row["version_fixed"]
        assert row["version_min"] // 100 == row["version_fixed"] // 100
        major, minor, patch = (int(part) for part in row["mended"].split("."))
        assert major * 10_000 + minor * 100 + patch == row["version_fixed"]
    for row in TABLES["postgresql"]["fault"]:
        assert row["minor_min"] < row["minor_fixed"]
