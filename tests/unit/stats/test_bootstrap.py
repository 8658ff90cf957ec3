"""Block bootstrap and batch means against what is known of simulated series."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dbdyno.stats.bootstrap import autocorrelation_time, batch_means, effective_sample_size, interval


def remembering(memory: float, length: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    series = np.empty(length)
    state = rng.standard_normal()
    for at in range(length):
        state = memory * state + math.sqrt(1 - memory**2) * rng.standard_normal()
        series[at] = state
    return series


def test_interval_is_seeded_and_holds_the_mean() -> None:
    series = 100 + remembering(0.5, 300, 1)
    first, again = interval(series, 8, seed=5), interval(series, 8, seed=5)
    assert first == again
    assert first.low < first.estimate < first.high
    assert first.estimate == pytest.approx(series.mean())


def test_blocks_keep_the_coverage_that_single_values_lose() -> None:
    hits = {1: 0, 15: 0}
    for seed in range(150):
        series = remembering(0.7, 300, seed)
        for block in hits:
            found = interval(series, block, seed, resamples=400)
            hits[block] += found.low <= 0 <= found.high
    assert hits[15] / 150 >= 0.87
    assert hits[1] / 150 <= 0.75


def test_another_statistic() -> None:
    found = interval([1.0] * 50 + [100.0], 1, seed=1, statistic=lambda rows: np.median(rows, axis=1))
    assert (found.estimate, found.low, found.high) == (1.0, 1.0, 1.0)


def test_no_values_no_interval() -> None:
    assert math.isnan(interval([math.nan], 5, seed=1).low)


def test_batch_means_leave_out_the_beginning() -> None:
    assert batch_means([99.0, 1.0, 3.0, 5.0, 7.0], 2).tolist() == [2.0, 6.0]
    assert batch_means([1.0], 2).tolist() == []


@pytest.mark.parametrize("memory", [0.0, 0.5, 0.8])
def test_autocorrelation_time_of_a_known_process(memory: float) -> None:
    known = (1 + memory) / (1 - memory)
    found = float(np.mean([autocorrelation_time(remembering(memory, 4000, seed)) for seed in range(5)]))
    assert found == pytest.approx(known, rel=0.25)


def test_effective_sample_size_of_constants_and_short_series() -> None:
    assert effective_sample_size([5.0] * 10) == 10
    assert effective_sample_size([1.0, 2.0]) == 2
