"""A Gaussian process over mixed rows: Matérn 5/2, one length per column, noise inferred.

The squared distance of two rows is a weighted sum over columns: squared difference for numbers, 0 or 1 for categories
(Hamming). Weights, amplitude and noise maximise the posterior density (MAP) by L-BFGS from several starts with exact
gradients. Formulas: Rasmussen and Williams, "Gaussian Processes for Machine Learning", 2006, chapter 5.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, optimize

Floats = NDArray[np.float64]

_JITTER = 1e-8
_ROOT5 = math.sqrt(5.0)


@dataclass(frozen=True)
class Priors:
    """Of the logarithms: mean and standard deviation."""

    length: tuple[float, float]
    amplitude: tuple[float, float] = (0.0, 1.0)
    noise: tuple[float, float] = (math.log(0.05), 1.5)


def priors_for(columns: int) -> Priors:
    """Lengths grow with the root of the number of columns, so that a space of many knobs is not assumed to be rougher
    than one of few (Hvarfner et al., "Vanilla Bayesian Optimization Performs Great in High Dimensions", 2024)."""
    return Priors(length=(math.sqrt(2.0) + 0.5 * math.log(columns) - 1.0, math.sqrt(3.0)))


class Process:
    """A fitted process. `x` are rows of a cube, `y` standardised values, `known` the variance of each value that was
    measured beside the inferred one, `repeats` how many measurements were averaged in it."""

    def __init__(self, x: Floats, y: Floats, known: Floats, repeats: Floats, categorical: NDArray[np.bool_]) -> None:
        self.x, self.y, self.known, self.repeats, self.categorical = x, y, known, repeats, categorical
        self.theta = np.zeros(x.shape[1] + 2)
        self._gaps = _gaps(x, x, categorical)

    def fit(self, priors: Priors, starts: list[Floats], iterations: int = 60) -> Process:
        """Chooses the hyperparameters: logarithms of lengths, amplitude (variance) and noise (variance)."""
        low = [math.log(0.03)] * self.x.shape[1] + [math.log(0.02), math.log(1e-4)]
        high = [math.log(100.0)] * self.x.shape[1] + [math.log(20.0), math.log(2.0)]
        best = math.inf
        for start in starts:
            found = optimize.minimize(
                self._loss, np.clip(start, low, high), args=(priors,), jac=True, method="L-BFGS-B",
                bounds=list(zip(low, high, strict=True)), options={"maxiter": iterations},
            )  # fmt: skip
            if float(found.fun) < best:
                best, self.theta = float(found.fun), np.asarray(found.x, dtype=np.float64)
        return self.condition()

    def condition(self) -> Process:
        """Prepares for predictions with the hyperparameters as they are."""
        kernel = math.exp(self.theta[-2]) * _matern(self._gaps @ np.exp(-2 * self.theta[:-2]))
        kernel[np.diag_indices_from(kernel)] += self._noise() + _JITTER
        self._factor = linalg.cholesky(kernel, lower=True)
        self._weights = linalg.cho_solve((self._factor, True), self.y)
        return self

    def predict(self, rows: Floats) -> tuple[Floats, Floats]:
        """Mean and variance (of the true value, without noise) at other rows."""
        amplitude = math.exp(self.theta[-2])
        scale = np.where(self.categorical, 1.0, np.exp(-self.theta[:-2]))
        cross = _distance(rows * scale, self.x * scale, self.categorical, np.exp(-2 * self.theta[:-2]))
        cross = amplitude * _matern(cross)
        solved = linalg.solve_triangular(self._factor, cross.T, lower=True, check_finite=False)
        mean: Floats = cross @ self._weights
        variance = amplitude - np.einsum("ij,ij->j", solved, solved)
        return mean, np.maximum(variance, 1e-12)

    def _noise(self) -> Floats:
        noise: Floats = math.exp(self.theta[-1]) / self.repeats + self.known
        return noise

    def _loss(self, theta: Floats, priors: Priors) -> tuple[float, Floats]:
        inverse = np.exp(-2 * theta[:-2])
        amplitude, noise = math.exp(theta[-2]), math.exp(theta[-1])
        squared = self._gaps @ inverse
        root = np.sqrt(squared)
        decay = np.exp(-_ROOT5 * root)
        kernel = amplitude * (1 + _ROOT5 * root + 5 / 3 * squared) * decay
        full = kernel.copy()
        full[np.diag_indices_from(full)] += noise / self.repeats + self.known + _JITTER
        try:
            factor = linalg.cholesky(full, lower=True, check_finite=False)
        except linalg.LinAlgError:
            return 1e10, np.zeros_like(theta)
        half = linalg.solve_triangular(factor, np.eye(len(full)), lower=True, check_finite=False)
        inverted = half.T @ half
        alpha = inverted @ self.y
        loss = 0.5 * float(self.y @ alpha) + float(np.log(np.diag(factor)).sum())
        outer = inverted - np.outer(alpha, alpha)
        slope = outer * (-5 / 6 * amplitude * (1 + _ROOT5 * root) * decay)
        gradient = np.empty_like(theta)
        gradient[:-2] = 0.5 * np.tensordot(slope, self._gaps, axes=([0, 1], [0, 1])) * inverse * -2
        gradient[-2] = 0.5 * float(np.sum(outer * kernel))
        gradient[-1] = 0.5 * float(np.diag(outer) @ (noise / self.repeats))
        centre = np.array([priors.length[0]] * (len(theta) - 2) + [priors.amplitude[0], priors.noise[0]])
        width = np.array([priors.length[1]] * (len(theta) - 2) + [priors.amplitude[1], priors.noise[1]])
        off = (theta - centre) / width
        return loss + 0.5 * float(off @ off), gradient + off / width


def _matern(squared: Floats) -> Floats:
    root = np.sqrt(np.maximum(squared, 0.0))
    value: Floats = (1 + _ROOT5 * root + 5 / 3 * squared) * np.exp(-_ROOT5 * root)
    return value


def _gaps(a: Floats, b: Floats, categorical: NDArray[np.bool_]) -> Floats:
    """Squared distance by column: rows of `a`, rows of `b`, columns."""
    gaps = (a[:, None, :] - b[None, :, :]) ** 2
    gaps[:, :, categorical] = gaps[:, :, categorical] > 0
    return gaps


def _distance(a: Floats, b: Floats, categorical: NDArray[np.bool_], inverse: Floats) -> Floats:
    """Weighted squared distance of rows whose numbers are already scaled; without the big array of `_gaps`."""
    number = ~categorical
    x, z = a[:, number], b[:, number]
    squared = np.sum(x**2, axis=1)[:, None] + np.sum(z**2, axis=1)[None, :] - 2 * x @ z.T
    for at in np.flatnonzero(categorical):
        squared += inverse[at] * (a[:, at][:, None] != b[:, at][None, :])
    clipped: Floats = np.maximum(squared, 0.0)
    return clipped
