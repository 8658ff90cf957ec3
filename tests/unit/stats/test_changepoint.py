"""Planted changes are found, and nothing else is."""

from __future__ import annotations

import numpy as np

from dbdyno.stats.changepoint import change_points, segments


def levels(*parts: tuple[int, float], seed: int, share: float = 0.02) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.concatenate([level * (1 + share * rng.standard_normal(length)) for length, level in parts])


def test_planted_changes_are_found_where_they_are() -> None:
    hits = 0
    for seed in range(50):
        found = change_points(levels((30, 1000), (25, 900), (30, 950), seed=seed))
        hits += len(found) == 2 and abs(found[0].index - 30) <= 2 and abs(found[1].index - 55) <= 2
    assert hits >= 45


def test_a_level_series_has_no_change_points() -> None:
    alarms = sum(bool(change_points(levels((80, 1000), seed=seed))) for seed in range(200))
    assert alarms <= 10


def test_a_change_has_its_size_and_small_ones_can_be_left_out() -> None:
    series = levels((30, 1000), (30, 950), seed=1)
    found = change_points(series)
    assert len(found) == 1
    assert abs(found[0].ratio - 0.95) < 0.01
    assert change_points(series, change_min=0.1) == []
    assert segments(60, found) == [(0, found[0].index), (found[0].index, 60)]


def test_short_and_constant_series() -> None:
    assert change_points([]) == []
    assert change_points([1.0] * 5) == []
    assert change_points([1.0] * 20) == []
    assert [point.index for point in change_points([1.0] * 10 + [2.0] * 10)] == [10]
