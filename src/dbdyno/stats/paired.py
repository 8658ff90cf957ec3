"""Is B faster than A? Ratios with an interval that keeps its promise, and a verdict that needs both of two proofs.

Pairs measured next to each other share the machine's mood, so each pair gives one log ratio and the machine drops
out (Bulej et al., "Duet Benchmarking: Improving Measurement Accuracy in the Cloud", 2020). The interval is Student's,
which is exact for normal log ratios however few the pairs are (and some 92 % true for markedly skewed ones);
percentile bootstraps of three to ten pairs are too short (Hesterberg, "What Teachers Should Know About the Bootstrap",
2015). From `_BOOTSTRAP_FROM` pairs on the studentised bootstrap is taken too, and the wider end of both counts, which
guards against skewed ratios. A difference is only stated when the interval excludes 1 and, where there are enough
pairs for it to be able to, the sign-flip permutation test agrees.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
from scipy import stats

from dbdyno.model.errors import UsageError
from dbdyno.model.trial import Comparison
from dbdyno.stats.bootstrap import Floats, autocorrelation_time, batch_means, finite, resample

FASTER = "faster"
SLOWER = "slower"
UNSHOWN = "no difference shown"
RATIO_MAX = 1e9
"""Stands for "no upper limit" in a comparison that has no spread to judge by; a stored number must be finite."""

_BOOTSTRAP_FROM = 12
_RESAMPLES = 4000
_FLIPS_EXACT = 14
"""Up to so many pairs all sign patterns are counted; beyond, a seeded sample of them."""
_BATCHES_MIN = 4


def compare(
    a: Sequence[float],
    b: Sequence[float],
    *,
    figure: str,
    names: tuple[str, str] = ("a", "b"),
    better: str = "higher",
    seed: int,
    confidence: float = 0.95,
) -> Comparison:
    """Compares two arms from figures of runs in pairs: `a[i]` and `b[i]` were measured next to each other.

    The ratio is b over a. `better` says which direction of the figure is good: `higher` (throughput) or `lower`
    (latency); the verdict is about b and already takes it into account. One pair has no spread: then there is a ratio
    but no verdict. Raises `UsageError` when the lists are empty, differ in length or hold figures that are not
    positive.
    """
    _check_direction(better)
    if len(a) != len(b) or not a:
        raise UsageError(
            f"A paired comparison of {figure} needs equally many runs of both arms.",
            found=f"{names[0]}: {len(a)}, {names[1]}: {len(b)}",
            todo="compare only complete pairs",
        )
    if not all(math.isfinite(value) and value > 0 for value in (*a, *b)):
        raise UsageError(
            f"A paired comparison of {figure} needs positive figures.",
            found=", ".join(f"{x:g}/{y:g}" for x, y in zip(a, b, strict=True)),
            todo="leave out runs that failed",
        )
    logs = np.log(np.asarray(b, dtype=np.float64)) - np.log(np.asarray(a, dtype=np.float64))
    low, high = log_interval(logs, seed=seed, confidence=confidence)
    p = sign_flip_p(logs, seed=seed)
    ratio = math.exp(float(logs.mean()))
    shown = (low > 0 or high < 0) and (p <= 1 - confidence or _smallest_p(len(logs)) > 1 - confidence)
    count = f"{len(logs)} pairs, sign-flip p = {p:.3g}" if len(logs) > 1 else "1 pair: no spread to judge by"
    return Comparison(
        a=names[0], b=names[1], figure=figure, pairs=len(logs), ratio=ratio, low=_ratio(low), high=_ratio(high),
        confidence=confidence, verdict=_verdict(shown, ratio, better),
        ratios=tuple(float(x) for x in np.exp(logs)), says=count,
    )  # fmt: skip


def log_interval(logs: Floats, *, seed: int, confidence: float = 0.95) -> tuple[float, float]:
    """Interval of the mean of log ratios of pairs; without any limit for a single pair."""
    pairs = len(logs)
    if pairs < 2:
        return -math.inf, math.inf
    mean, error = float(logs.mean()), float(logs.std(ddof=1)) / math.sqrt(pairs)
    reach = float(stats.t.ppf((1 + confidence) / 2, pairs - 1)) * error
    low, high = mean - reach, mean + reach
    if pairs >= _BOOTSTRAP_FROM and error > 0:
        tail = (1 - confidence) / 2
        rows = resample(logs, 1, _RESAMPLES, np.random.default_rng(seed))
        spread = rows.std(axis=1, ddof=1) / math.sqrt(pairs)
        pivots = (rows.mean(axis=1) - mean)[spread > 0] / spread[spread > 0]
        below, above = np.quantile(pivots, [tail, 1 - tail])
        low, high = min(low, mean - float(above) * error), max(high, mean - float(below) * error)
    return low, high


def sign_flip_p(logs: Floats, *, seed: int) -> float:
    """Two-sided p-value: how often the mean would be as far from zero if in each pair either arm could have won.

    Exact up to 14 pairs, else from 20,000 seeded patterns. Needs no normality, only symmetry around zero if nothing
    differs.
    """
    pairs = len(logs)
    seen = abs(float(logs.sum()))
    if pairs <= _FLIPS_EXACT:
        signs = np.array(list(itertools.product((1.0, -1.0), repeat=pairs)))
        sums = np.abs(signs @ logs)
        return float(np.mean(sums >= seen * (1 - 1e-12)))
    draws = np.random.default_rng(seed).integers(0, 2, size=(20_000, pairs)) * 2.0 - 1.0
    beyond = int(np.sum(np.abs(draws @ logs) >= seen * (1 - 1e-12)))
    return (beyond + 1) / (len(draws) + 1)


def compare_series(
    a: Sequence[float] | Floats,
    b: Sequence[float] | Floats,
    *,
    figure: str,
    names: tuple[str, str] = ("a", "b"),
    better: str = "higher",
    seed: int,
    seconds: float = 1.0,
    block_s: float = 8.0,
    between_sd: float = 0.0,
    confidence: float = 0.95,
) -> Comparison:
    """Compares two single runs by their interval series (throughput by the second), of which `seconds` is the step.

    Values near in time resemble each other, so that blocks of `block_s` seconds, or longer when the series remember
    longer, are what counts. The interval is the wider of a Welch interval over batch means and a moving-block
    bootstrap. It knows only what happened within the two runs: two runs of one configuration differ by more.
    `between_sd` is that difference where it is known: the standard deviation of the logarithm of a run's mean from run
    to run (anchors of a study, A/A pairs). Raises `UsageError` when a series is empty or its mean is not positive.
    """
    _check_direction(better)
    series = [finite(a), finite(b)]
    if any(not len(each) or float(each.mean()) <= 0 for each in series):
        raise UsageError(
            f"Two runs can only be compared by a {figure} that is there and positive.",
            found=f"{names[0]}: {len(series[0])} values, {names[1]}: {len(series[1])} values",
            todo="compare runs that have a measured phase",
        )
    block = [_block(each, block_s / seconds) for each in series]
    log_ratio = math.log(float(series[1].mean())) - math.log(float(series[0].mean()))
    batches = [len(each) // size for each, size in zip(series, block, strict=True)]
    if min(batches) < _BATCHES_MIN:
        says = f"too short: {min(batches)} independent stretches in a run, at least {_BATCHES_MIN} are needed"
        return Comparison(
            a=names[0], b=names[1], figure=figure, pairs=1, ratio=math.exp(log_ratio), low=0.0, high=RATIO_MAX,
            confidence=confidence, verdict=UNSHOWN, says=says,
        )  # fmt: skip
    error, degrees = _welch(series, block)
    reach = float(stats.t.ppf((1 + confidence) / 2, degrees)) * error
    low, high = log_ratio - reach, log_ratio + reach
    rng = np.random.default_rng(seed)
    rows = [
        np.maximum(resample(each, size, _RESAMPLES, rng).mean(axis=1), 1e-300)
        for each, size in zip(series, block, strict=True)
    ]
    tail = (1 - confidence) / 2
    boot = np.quantile(np.log(rows[1]) - np.log(rows[0]), [tail, 1 - tail])
    low, high = min(low, float(boot[0])), max(high, float(boot[1]))
    if between_sd > 0:
        widen = float(stats.norm.ppf((1 + confidence) / 2)) * between_sd * math.sqrt(2)
        low, high = log_ratio - math.hypot(log_ratio - low, widen), log_ratio + math.hypot(high - log_ratio, widen)
    says = f"one run each, {batches[0]} and {batches[1]} independent stretches of {block_s:g} s or longer; " + (
        f"run-to-run spread of {between_sd:.1%} added"
        if between_sd > 0
        else "what differs from run to run is not in the interval: repeat in pairs to be sure"
    )
    return Comparison(
        a=names[0], b=names[1], figure=figure, pairs=1, ratio=math.exp(log_ratio), low=_ratio(low), high=_ratio(high),
        confidence=confidence, verdict=_verdict(low > 0 or high < 0, math.exp(log_ratio), better),
        ratios=(math.exp(log_ratio),), says=says,
    )  # fmt: skip


def _welch(series: list[Floats], block: list[int]) -> tuple[float, float]:
    """Standard error of the log ratio of means from batch means, and Welch's degrees of freedom."""
    parts = []
    for each, size in zip(series, block, strict=True):
        means = batch_means(each, size)
        parts.append((float(means.var(ddof=1)) / len(means) / float(each.mean()) ** 2, len(means) - 1))
    total = sum(variance for variance, _ in parts)
    if total <= 0:
        return 0.0, float(sum(freedom for _, freedom in parts))
    degrees = total**2 / sum(variance**2 / freedom for variance, freedom in parts)
    return math.sqrt(total), degrees


def _block(series: Floats, wanted: float) -> int:
    """Values in a block: as asked for, but at least three times as long as the series remembers."""
    return max(1, math.ceil(wanted), math.ceil(3 * autocorrelation_time(series)))


def _smallest_p(pairs: int) -> float:
    return float(2.0 ** (1 - pairs))


def _ratio(log: float) -> float:
    return min(math.exp(min(log, 700.0)), RATIO_MAX)


def _check_direction(better: str) -> None:
    assert better in ("higher", "lower"), better


def _verdict(shown: bool, ratio: float, better: str) -> str:
    if not shown:
        return UNSHOWN
    return FASTER if (ratio > 1) == (better == "higher") else SLOWER
