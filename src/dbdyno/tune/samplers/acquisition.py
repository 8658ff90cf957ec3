"""Where to measure next: logarithm of expected improvement, and a search for its highest point in a mixed space.

The logarithm keeps a slope where the improvement itself underflows to zero (Ament et al., "Unexpected Improvements to
Expected Improvement for Bayesian Optimization", 2023).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dbdyno.tune.samplers.cube import Cube, Rows

Floats = NDArray[np.float64]
Score = Callable[[Rows], Floats]

_LOG_ROOT_2PI = 0.5 * math.log(2 * math.pi)
_ROUNDS = 14
_CLIMBERS = 8
_MUTANTS = 30


def log_expected_improvement(mean: Floats, variance: Floats, best: float) -> Floats:
    """Of a value that is normal with this mean and variance over `best`; larger values are better."""
    spread = np.sqrt(variance)
    z = (mean - best) / spread
    size = np.abs(np.minimum(z, -1.0))
    near = np.log(np.maximum(np.exp(-0.5 * z**2 - _LOG_ROOT_2PI) + z * special.ndtr(z), 1e-300))
    # phi(z) + z Phi(z) cancels in the lower tail; the scaled complementary error function does not.
    rest = np.maximum(1 - size * math.sqrt(math.pi / 2) * special.erfcx(size / math.sqrt(2)), 1e-300)
    far = -0.5 * size**2 - _LOG_ROOT_2PI + np.where(size > 1e5, -2 * np.log(size), np.log(rest))
    improvement: Floats = np.log(spread) + np.where(z > -1.0, near, far)
    return improvement


def climb(score: Score, cube: Cube, good: Rows, rng: np.random.Generator, *, draws: int = 1000) -> Rows:
    """Rows of high score, best first: random draws and neighbours of `good` rows, the best improved step by step."""
    random = cube.from_unit_cube(rng.random((draws, cube.width)))
    near = mutate(cube, np.repeat(good, max(1, draws // (2 * len(good))), axis=0), rng)
    pool = np.concatenate([random, near])
    values = score(pool)
    order = np.argsort(-values, kind="stable")[:_CLIMBERS]
    at, height = pool[order], values[order]
    for turn in range(_ROUNDS):
        reach = 0.5 * 0.75**turn
        mutants = mutate(cube, np.repeat(at, _MUTANTS, axis=0), rng, reach=reach)
        found = score(mutants).reshape(len(at), _MUTANTS)
        pick = np.argmax(found, axis=1)
        better = found[np.arange(len(at)), pick] > height
        chosen = mutants.reshape(len(at), _MUTANTS, -1)[np.arange(len(at)), pick]
        at = np.where(better[:, None], chosen, at)
        height = np.where(better, found[np.arange(len(at)), pick], height)
    order = np.argsort(-height, kind="stable")
    return np.concatenate([at[order], pool[np.argsort(-values, kind="stable")]])


def mutate(cube: Cube, rows: Rows, rng: np.random.Generator, *, reach: float = 0.2) -> Rows:
    """Each row with one to a few columns changed: numbers by a normal step of about `reach`, words by another word."""
    count, width = rows.shape
    share = np.minimum(1.0, rng.choice([1.0, 2.0, 4.0, 8.0], size=(count, 1)) / width)
    touched = rng.random((count, width)) < share
    touched[np.arange(count), rng.integers(0, width, count)] = True
    scale = reach * rng.choice([1.0, 0.3, 0.1], size=(count, 1))
    moved = rows + scale * rng.standard_normal((count, width))
    anew = rng.random((count, width)) < 0.1
    moved = np.where(anew, rng.random((count, width)), moved)
    for at in np.flatnonzero(cube.categorical):
        step = rng.integers(1, max(cube.sizes[at], 2), count)
        moved[:, at] = (rows[:, at] + step) % cube.sizes[at]
    return cube.settled(np.where(touched, moved, rows))
