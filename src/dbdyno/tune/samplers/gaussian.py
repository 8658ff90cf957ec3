"""Our sampler: a Gaussian process on the logarithm of throughput, expected improvement over its own best guess.

What is special to tuning servers: measurements are few and noisy (so the incumbent is the best posterior mean, not the
luckiest measurement, and noise is inferred); spaces mix numbers, words and special values that switch mechanisms; some
assignments fail (they are avoided by a model of where failures lie, and not forgotten). A proposal is a function of
(study, seed, trial number) alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import optuna
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.trial import FrozenTrial

from dbdyno.model.knob import Assignment, Knob
from dbdyno.tune.samplers.acquisition import Floats, climb, log_expected_improvement
from dbdyno.tune.samplers.cube import Cube, Rows
from dbdyno.tune.samplers.history import History, read
from dbdyno.tune.samplers.process import Priors, Process, priors_for
from dbdyno.tune.space import distributions, parameters

STARTUP = 8
"""Trials (baselines included) before the model is asked: fewer make it sure too early, see benchmarks/results."""
_NOISE_USUAL = 0.03
"""Standard deviation of log throughput between runs that is expected before anything is known: published repeats of
one assignment vary by 1.4 to 5 % (Freischuetz et al., "TUNA: Tuning Unstable and Noisy Cloud Applications", 2025)."""
_DESIGN_DRAWS = 24
_FAILURE_VALUE = -1.0
_POSSIBLE_MIN = 0.02


class GaussianProcessSampler(BaseSampler):
    """`noise` is the standard deviation of the logarithm of a score from run to run, where it is known (anchors);
    without it, noise is inferred from the trials."""

    def __init__(self, knobs: Sequence[Knob], *, seed: int, noise: float | None = None, startup: int = STARTUP) -> None:
        self._cube = Cube(knobs)
        self._space = distributions(knobs)
        self._seed = seed
        self._noise = noise
        self._startup = startup
        self._random = RandomSampler(seed=seed % 2**32)

    def infer_relative_search_space(self, study: optuna.Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        return self._space

    def sample_relative(
        self, study: optuna.Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        history = read(study, self._cube, without=trial.number)
        rng = np.random.default_rng((self._seed % 2**63, trial.number))
        row: Rows = self._design(history, rng) if self._early(history) else self._improve(history, rng)
        return parameters(self._cube.decode(row), self._cube.knobs)

    def sample_independent(
        self, study: optuna.Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """For parameters that are not knobs of ours, and for conditional numbers nobody modelled."""
        return self._random.sample_independent(study, trial, param_name, param_distribution)

    def reseed_rng(self) -> None:
        """Nothing to do: a proposal depends on the trial's number, so that parallel workers never share a stream."""

    def recommend(self, study: optuna.Study) -> Assignment:
        """The measured assignment with the highest posterior mean. Raises `ValueError` when nothing was scored."""
        history = read(study, self._cube, without=-1)
        if not len(history.rows):
            raise ValueError("no trial has a score")
        if len(history.rows) < 3:
            return self._cube.decode(history.rows[int(np.argmax(history.values))])
        mean, _ = self._model(history, np.random.default_rng(self._seed % 2**63)).predict(history.rows)
        return self._cube.decode(history.rows[int(np.argmax(mean))])

    def _early(self, history: History) -> bool:
        return history.count < self._startup or len(history.rows) < 3

    def _design(self, history: History, rng: np.random.Generator) -> Rows:
        """The emptiest of some random places (Mitchell, "Spectrally Optimal Sampling for Distribution Ray Tracing",
        1991): spread out whatever was measured before, and whether or not the seed stays the same."""
        draws = self._cube.from_unit_cube(rng.random((_DESIGN_DRAWS, self._cube.width)))
        taken = np.concatenate([history.rows, history.failed, history.pending])
        if not len(taken):
            only: Rows = draws[0]
            return only
        gaps = (draws[:, None, :] - taken[None, :, :]) ** 2
        gaps[:, :, self._cube.categorical] = gaps[:, :, self._cube.categorical] > 0
        chosen: Rows = draws[int(np.argmax(gaps.sum(axis=2).min(axis=1)))]
        return chosen

    def _improve(self, history: History, rng: np.random.Generator) -> Rows:
        model = self._model(history, rng)
        possible = self._possible(history, rng)
        mean, _ = model.predict(history.rows)
        best = float(mean.max())

        def score(rows: Rows) -> Floats:
            value = log_expected_improvement(*model.predict(rows), best)
            if possible is not None:
                chance, _ = possible.predict(rows)
                value = value + np.log(np.clip(1.0 + chance, _POSSIBLE_MIN, 1.0))
            return value

        good = history.rows[np.argsort(-mean, kind="stable")[:5]]
        candidates = climb(score, self._cube, good, rng)
        taken = {row.tobytes() for row in np.round(np.concatenate([history.rows, history.failed, history.pending]), 9)}
        fresh = next((row for row in candidates if np.round(row, 9).tobytes() not in taken), None)
        # A small space may be measured through: then once more where it looks best.
        chosen: Rows = candidates[0] if fresh is None else fresh
        return chosen

    def _model(self, history: History, rng: np.random.Generator) -> Process:
        """Of the scores. Failures stand at the worst of them, loosely; pending trials at what is expected of them, so
        that the next one goes elsewhere."""
        failures = len(history.failed)
        rows = np.concatenate([history.rows, history.failed])
        worst = float(history.values.min()) if failures else 0.0
        model = Process(
            rows,
            np.concatenate([history.values, np.full(failures, worst)]),
            np.concatenate([history.known, np.full(failures, 0.25)]),
            np.concatenate([history.repeats, np.ones(failures)]),
            self._cube.categorical,
        )
        model = self._fitted(model, self._priors(history), rng)
        if not len(history.pending):
            return model
        expected, _ = model.predict(history.pending)
        pending = len(history.pending)
        believer = Process(
            np.concatenate([rows, history.pending]),
            np.concatenate([model.y, expected]),
            np.concatenate([model.known, np.zeros(pending)]),
            np.concatenate([model.repeats, np.ones(pending)]),
            self._cube.categorical,
        )
        believer.theta = model.theta
        return believer.condition()

    def _possible(self, history: History, rng: np.random.Generator) -> Process | None:
        """Where failures lie: 0 for what worked, -1 for what failed; None when nothing failed."""
        failures = len(history.failed)
        if not failures:
            return None
        rows = np.concatenate([history.rows, history.failed])
        labels = np.concatenate([np.zeros(len(history.rows)), np.full(failures, _FAILURE_VALUE)])
        priors = Priors(length=priors_for(self._cube.width).length, noise=(math.log(0.01), 1.0))
        process = Process(rows, labels, np.zeros(len(rows)), np.ones(len(rows)), self._cube.categorical)
        return self._fitted(process, priors, rng)

    def _priors(self, history: History) -> Priors:
        length = priors_for(self._cube.width).length
        if not history.log:
            return Priors(length=length)
        noise, width = (self._noise, 0.5) if self._noise else (_NOISE_USUAL, 1.0)
        return Priors(length=length, noise=(2 * math.log(max(noise / history.scale, 0.01)), width))

    @staticmethod
    def _fitted(process: Process, priors: Priors, rng: np.random.Generator) -> Process:
        width = process.x.shape[1]
        centre = np.concatenate([np.full(width, priors.length[0]), [priors.amplitude[0], priors.noise[0]]])
        elsewhere = centre + rng.normal(size=width + 2) * np.concatenate([np.ones(width), [0.0, 1.0]])
        return process.fit(priors, [centre, elsewhere])
