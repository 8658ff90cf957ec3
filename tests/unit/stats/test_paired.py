"""The comparison keeps its promises: coverage and false alarms are counted on simulated runs."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from dbdyno.model.errors import UsageError
from dbdyno.stats.bootstrap import Floats
from dbdyno.stats.paired import FASTER, RATIO_MAX, SLOWER, UNSHOWN, compare, compare_series, log_interval, sign_flip_p

Draw = Callable[[np.random.Generator, int], Floats]
SHAPES: dict[str, Draw] = {
    "normal": lambda rng, n: rng.standard_normal(n),
    "heavy": lambda rng, n: rng.standard_t(3, n),
    "skewed": lambda rng, n: np.exp(0.4 * rng.standard_normal(n)) - math.exp(0.08),
}
# 600 repetitions have a standard error of 0.9 %; 93 % is more than two of them below the nominal 95 %. Equal arms
# give symmetric log ratios whatever the noise; those of different arms may be skewed, and few pairs cannot show it.
REPEATS = 600
FLOOR = 0.93
FLOOR_SKEWED = 0.90


@pytest.mark.parametrize("pairs", [3, 5, 8, 10, 16])
@pytest.mark.parametrize("shape", SHAPES)
def test_interval_covers_what_it_promises(pairs: int, shape: str) -> None:
    rng = np.random.default_rng(pairs)
    hits = 0
    for repeat in range(REPEATS if pairs < 12 else 300):
        low, high = log_interval(0.05 + 0.03 * SHAPES[shape](rng, pairs), seed=repeat)
        hits += low <= 0.05 <= high
    assert hits / (REPEATS if pairs < 12 else 300) >= (FLOOR_SKEWED if shape == "skewed" else FLOOR)


@pytest.mark.parametrize("pairs", [3, 5, 8])
@pytest.mark.parametrize("shape", SHAPES)
def test_equal_arms_are_rarely_called_different(pairs: int, shape: str) -> None:
    rng = np.random.default_rng(100 + pairs)
    alarms = 0
    for repeat in range(REPEATS):
        mood = np.exp(0.2 * rng.standard_normal(pairs))
        a = 1000 * mood * np.exp(0.03 * SHAPES[shape](rng, pairs))
        b = 1000 * mood * np.exp(0.03 * SHAPES[shape](rng, pairs))
        alarms += compare(a.tolist(), b.tolist(), figure="tps", seed=repeat).verdict != UNSHOWN
    assert alarms / REPEATS <= 1 - FLOOR


def test_a_real_difference_is_found_through_the_machines_moods() -> None:
    rng = np.random.default_rng(3)
    mood = np.exp(0.3 * rng.standard_normal(8))
    a = (1000 * mood * np.exp(0.02 * rng.standard_normal(8))).tolist()
    b = (1100 * mood * np.exp(0.02 * rng.standard_normal(8))).tolist()
    found = compare(a, b, figure="tps", names=("default", "winner"), seed=1)
    assert found.verdict == FASTER
    assert found.low < 1.1 < found.high
    assert (found.a, found.b, found.pairs, len(found.ratios)) == ("default", "winner", 8, 8)
    assert compare(b, a, figure="tps", seed=1).verdict == SLOWER
    assert compare(a, b, figure="p99_ms", better="lower", seed=1).verdict == SLOWER
    assert compare(b, a, figure="p99_ms", better="lower", seed=1).verdict == FASTER


def test_swapping_the_arms_inverts_the_ratio() -> None:
    a, b = [100.0, 103.0, 98.0, 101.0], [110.0, 108.0, 111.0, 107.0]
    there, back = compare(a, b, figure="tps", seed=1), compare(b, a, figure="tps", seed=1)
    assert there.ratio == pytest.approx(1 / back.ratio)
    assert there.low == pytest.approx(1 / back.high)


def test_one_pair_gives_a_ratio_and_no_verdict() -> None:
    found = compare([100.0], [300.0], figure="tps", seed=1)
    assert found.ratio == pytest.approx(3.0)
    assert found.verdict == UNSHOWN
    assert (found.low, found.high) == (0.0, RATIO_MAX)


def test_identical_figures_show_nothing() -> None:
    found = compare([100.0] * 5, [100.0] * 5, figure="tps", seed=1)
    assert found.verdict == UNSHOWN
    assert (found.low, found.high) == (1.0, 1.0)


@pytest.mark.parametrize(("a", "b"), [([], []), ([1.0], [1.0, 2.0]), ([0.0], [1.0]), ([1.0], [math.nan])])
def test_what_is_no_pair_is_refused(a: list[float], b: list[float]) -> None:
    with pytest.raises(UsageError, match="tps"):
        compare(a, b, figure="tps", seed=1)


def test_sign_flips_are_counted_exactly() -> None:
    assert sign_flip_p(np.array([0.1, 0.2, 0.3]), seed=1) == pytest.approx(2 / 8)
    assert sign_flip_p(np.array([0.1, -0.1]), seed=1) == 1.0
    assert sign_flip_p(np.full(20, 0.1), seed=1) < 0.001


def remembering(rng: np.random.Generator, mean: float, memory: float, length: int = 120) -> Floats:
    noise = np.empty(length)
    state = rng.standard_normal()
    for at in range(length):
        state = memory * state + math.sqrt(1 - memory**2) * rng.standard_normal()
        noise[at] = state
    return mean * (1 + 0.05 * noise)


@pytest.mark.parametrize("memory", [0.0, 0.6, 0.85])
def test_series_that_remember_do_not_fool_the_interval(memory: float) -> None:
    rng = np.random.default_rng(7)
    hits = 0
    for repeat in range(200):
        a, b = remembering(rng, 1000, memory), remembering(rng, 1030, memory)
        found = compare_series(a, b, figure="tps", seed=repeat)
        hits += found.low <= 1.03 <= found.high
    # 200 repetitions have a standard error of 1.5 %.
    assert hits / 200 >= 0.92


def test_a_clear_difference_of_two_runs_is_shown_unless_runs_are_known_to_differ() -> None:
    rng = np.random.default_rng(7)
    a, b = remembering(rng, 1000, 0.5), remembering(rng, 1100, 0.5)
    assert compare_series(a, b, figure="tps", seed=1).verdict == FASTER
    assert compare_series(a, b, figure="p99_us", better="lower", seed=1).verdict == SLOWER
    assert compare_series(a, b, figure="tps", seed=1, between_sd=0.08).verdict == UNSHOWN


def test_short_series_show_nothing() -> None:
    found = compare_series([100.0] * 10, [300.0] * 10, figure="tps", seed=1)
    assert found.verdict == UNSHOWN
    assert "too short" in found.says
    with pytest.raises(UsageError):
        compare_series([], [1.0], figure="tps", seed=1)
