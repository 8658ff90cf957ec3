"""Samplers of the search, by name."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence

from optuna.samplers import BaseSampler, RandomSampler, TPESampler

from dbdyno.model.errors import UsageError
from dbdyno.model.knob import Knob
from dbdyno.tune.samplers.gaussian import GaussianProcessSampler

Maker = Callable[[int, Sequence[Knob], float | None], BaseSampler]


def _gaussian(seed: int, knobs: Sequence[Knob], noise: float | None) -> BaseSampler:
    return GaussianProcessSampler(knobs, seed=seed, noise=noise)


def _tpe(seed: int, knobs: Sequence[Knob], noise: float | None) -> BaseSampler:
    return TPESampler(seed=seed % 2**32)


def _random(seed: int, knobs: Sequence[Knob], noise: float | None) -> BaseSampler:
    return RandomSampler(seed=seed % 2**32)


def _optuna_gp(seed: int, knobs: Sequence[Knob], noise: float | None) -> BaseSampler:
    if importlib.util.find_spec("torch") is None:
        raise UsageError(
            "Sampler optuna-gp needs a package that is not installed.",
            found="no module torch",
            todo="install torch, or use --sampler gp",
        )
    from optuna.samplers import GPSampler

    return GPSampler(seed=seed % 2**32, deterministic_objective=False)


SAMPLERS: dict[str, Maker] = {
    "auto": _gaussian,
    "gp": _gaussian,
    "tpe": _tpe,
    "random": _random,
    "optuna-gp": _optuna_gp,
}
"""`auto` is the one that did best in benchmarks/sampler.py."""


def make_sampler(name: str, *, seed: int, knobs: Sequence[Knob], noise: float | None = None) -> BaseSampler:
    """The sampler of that name. `noise`: standard deviation of the logarithm of a score from run to run, if known.

    Raises `UsageError` for a name that does not exist or whose package is not installed.
    """
    maker = SAMPLERS.get(name)
    if maker is None:
        raise UsageError(
            f"There is no sampler {name!r}.", found=f"known: {', '.join(SAMPLERS)}", todo="choose one of them"
        )
    return maker(seed, knobs, noise)
