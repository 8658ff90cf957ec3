"""Intervals for autocorrelated series: batch means, effective sample size, moving-block bootstrap.

Throughput of one second is not independent of the second before it; treating it so makes intervals too short.
Sources: Künsch, "The Jackknife and the Bootstrap for General Stationary Observations", 1989 (moving blocks); Law,
"Simulation Modeling and Analysis", 5th edition, 2015, section 9.5 (batch means); Geyer, "Practical Markov Chain Monte
Carlo", 1992 (initial positive sequence).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Statistic = Callable[[Floats], Floats]
"""Takes rows of resampled values and gives one figure a row."""


@dataclass(frozen=True)
class Interval:
    estimate: float
    low: float
    high: float
    confidence: float


def row_means(rows: Floats) -> Floats:
    means: Floats = rows.mean(axis=1)
    return means


def finite(values: ArrayLike) -> Floats:
    """As a flat array without NaN and infinities (gaps of the record)."""
    array = np.asarray(values, dtype=np.float64).ravel()
    return array[np.isfinite(array)]


def resample(values: Floats, block: int, resamples: int, rng: np.random.Generator) -> Floats:
    """Rows of the series' own length, glued from blocks of neighbours that begin anywhere; blocks wrap at the end,
    so that every value is drawn equally often (Politis and Romano, "A Circular Block-Resampling Procedure", 1992)."""
    length = len(values)
    block = min(max(block, 1), length)
    pieces = math.ceil(length / block)
    starts = rng.integers(0, length, size=(resamples, pieces))
    index = (starts[:, :, None] + np.arange(block)[None, None, :]) % length
    rows: Floats = values[index.reshape(resamples, pieces * block)[:, :length]]
    return rows


def interval(
    values: Sequence[float] | Floats,
    block: int,
    seed: int,
    *,
    statistic: Statistic = row_means,
    confidence: float = 0.95,
    resamples: int = 2000,
) -> Interval:
    """Percentile interval of a statistic (the mean unless given) from a moving-block bootstrap.

    `block` is the length of a block in values: for a series by the second, the seconds over which it remembers (5-10
    for a server under load). NaN everywhere when no value is finite.
    """
    kept = finite(values)
    if not len(kept):
        return Interval(math.nan, math.nan, math.nan, confidence)
    estimate = float(statistic(kept[None, :])[0])
    figures = statistic(resample(kept, block, resamples, np.random.default_rng(seed)))
    tail = (1 - confidence) / 2
    low, high = np.quantile(figures, [tail, 1 - tail])
    return Interval(estimate, float(low), float(high), confidence)


def batch_means(values: Sequence[float] | Floats, block: int) -> Floats:
    """Means of whole blocks in a row; the values before the first whole block are left out, as the run's end is
    nearer to its steady state."""
    kept = finite(values)
    batches = len(kept) // max(block, 1)
    if not batches:
        return kept[:0]
    means: Floats = kept[len(kept) - batches * block :].reshape(batches, block).mean(axis=1)
    return means


def autocorrelation_time(values: Sequence[float] | Floats) -> float:
    """How many values make one independent value: 1 + 2 sum of autocorrelations, at least 1.

    The sum stops at the first pair of lags whose sum is not positive (Geyer's initial positive sequence).
    """
    kept = finite(values)
    length = len(kept)
    if length < 4:
        return 1.0
    centred = kept - kept.mean()
    power = float(centred @ centred)
    if power <= 0.0:
        return 1.0
    spectrum = np.fft.rfft(centred, 2 * length)
    correlation = np.fft.irfft(spectrum * np.conj(spectrum))[:length] / power
    total = 0.0
    for lag in range(0, length - 1, 2):
        pair = float(correlation[lag] + correlation[lag + 1])
        if pair <= 0.0:
            break
        total += pair
    return max(1.0, 2.0 * total - 1.0)


def effective_sample_size(values: Sequence[float] | Floats) -> float:
    """Number of independent values that would tell as much about the mean as this series does."""
    return len(finite(values)) / autocorrelation_time(values)
