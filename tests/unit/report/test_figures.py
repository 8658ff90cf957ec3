"""Numbers as words, and long series made short."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbdyno.report import figures
from dbdyno.report.thin import thin
from dbdyno.report.words import setting_words

T, H = figures.THIN, figures.HARD


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0, "0"),
        (1, "1.00"),
        (12.345, "12.3"),
        (999.6, f"1{T}000"),
        (12345.6, f"12{T}300"),
        (-0.01234, "−0.0123"),
        (0.0009996, "0.00100"),
        (None, "–"),
        (math.nan, "–"),
        (math.inf, "–"),
    ],
)
def test_number_has_three_digits(value: float | None, words: str) -> None:
    assert figures.number(value) == words


@pytest.mark.parametrize(
    ("value", "unit", "words"),
    [
        (1536, "bytes", f"1.50{H}KiB"),
        (1023.9, "bytes", f"1.00{H}KiB"),
        (0.0123, "s", f"12.3{H}ms"),
        (90, "s", f"90{H}s"),
        (130, "s", f"2{H}min 10{H}s"),
        (7260, "s", f"2{H}h 1{H}min"),
        (4200, "us", f"4.20{H}ms"),
        (0.034, "fraction", f"3.4{H}%"),
        (12, "pages", f"12.0{H}pages"),
    ],
)
def test_quantity_chooses_a_unit_that_fits(value: float, unit: str, words: str) -> None:
    assert figures.quantity(value, unit) == words


@given(st.floats(1e-5, 1e12))
def test_number_is_within_half_of_the_last_digit(value: float) -> None:
    back = float(figures.number(value).replace(T, ""))
    assert abs(back - value) <= value * 0.0051


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6))
def test_ticks_lie_within_the_axis(low: float, span: float) -> None:
    found = figures.ticks(low, low + span)
    assert 1 <= len(found) <= 12
    assert all(low - span * 1e-6 <= tick <= low + span * (1 + 1e-6) for tick in found)


@pytest.mark.parametrize(
    ("value", "unit", "words"),
    [
        ("16384", "8kB", f"128{H}MiB"),
        ("900", "s", f"15{H}min"),
        ("-1", "8kB", "-1"),
        ("on", "", "on"),
        ("7", "", "7"),
        ("3", "wizards", "3 wizards"),
    ],
)
def test_settings_in_base_units_become_sizes(value: str, unit: str, words: str) -> None:
    assert setting_words(value, unit) == words


def test_a_short_series_stays_as_it_is() -> None:
    thinned = thin(np.arange(5.0), [np.array([1.0, np.nan, 3.0, np.inf, 5.0])], points_max=5)
    assert thinned.t_s == [0, 1, 2, 3, 4]
    assert thinned.mean == [[1, None, 3, None, 5]]
    assert thinned.low == []


def test_a_peak_of_one_second_in_ten_hours_stays_visible() -> None:
    values = np.full(36_000, 100.0)
    values[17_777] = 9_999.0
    values[20_000:20_100] = np.nan
    thinned = thin(np.arange(36_000.0), [values])
    assert len(thinned.t_s) <= 2000
    assert max(value for value in thinned.high[0] if value is not None) == 9_999
    assert min(value for value in thinned.low[0] if value is not None) == 100
    assert None in thinned.mean[0], "a gap stays a gap"
    assert sorted(thinned.t_s) == thinned.t_s
