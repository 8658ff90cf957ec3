"""Warm-up is cut off, and what never settles is called so."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dbdyno.stats.steady import mser, steady_from


def noisy(length: int, seed: int = 1, share: float = 0.04) -> np.ndarray:
    return 1000 * (1 + share * np.random.default_rng(seed).standard_normal(length))


def test_a_steady_series_is_steady_nearly_always() -> None:
    found = [steady_from(noisy(120, seed)) for seed in range(100)]
    assert sum(each.steady for each in found) >= 95
    assert np.median([each.start_index for each in found]) <= 40


@pytest.mark.parametrize("warmup", [10, 20, 40])
def test_warm_up_is_cut_off(warmup: int) -> None:
    series = noisy(150)
    series[:warmup] *= np.linspace(0.2, 0.9, warmup)
    found = steady_from(series)
    assert found.steady, found.says
    assert warmup - 5 <= found.start_index <= warmup + 35


def test_a_trend_is_not_steady() -> None:
    found = steady_from(noisy(120) * np.linspace(1.0, 0.7, 120))
    assert not found.steady
    assert "falls" in found.says


def test_a_step_in_the_middle_is_not_steady() -> None:
    series = noisy(200)
    series[120:] *= 0.8
    found = steady_from(series)
    assert not found.steady


def test_a_late_collapse_is_not_steady() -> None:
    series = noisy(120)
    series[100:] *= 0.5
    assert not steady_from(series).steady


def test_too_short_or_empty_is_said() -> None:
    assert "too few" in steady_from([1.0] * 10).says
    assert not steady_from([]).steady
    assert not steady_from([math.nan] * 100).steady


def test_a_constant_series_is_steady_from_the_start() -> None:
    found = steady_from([500.0] * 60)
    assert found.steady
    assert found.start_index == 0


def test_gaps_do_not_matter() -> None:
    series = noisy(120)
    series[::7] = np.nan
    series[0] = np.nan
    assert steady_from(series).steady


def test_mser_finds_the_end_of_a_clean_warm_up() -> None:
    series = np.concatenate([np.zeros(20), np.full(80, 100.0) + np.tile([1.0, -1.0], 40)])
    assert mser(series) == 20
