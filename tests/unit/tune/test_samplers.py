"""Our sampler on seeded functions: better than random, at home with special values, failures, repeats and parallel
trials. Everything is counted over seeds; nothing is timed."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable

import numpy as np
import optuna
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optuna.trial import TrialState

from dbdyno.model.errors import UsageError
from dbdyno.model.knob import Assignment, Knob
from dbdyno.tune import space
from dbdyno.tune.samplers import SAMPLERS, make_sampler
from dbdyno.tune.samplers.acquisition import log_expected_improvement
from dbdyno.tune.samplers.cube import Cube
from dbdyno.tune.samplers.gaussian import GaussianProcessSampler
from dbdyno.tune.samplers.history import read
from dbdyno.tune.samplers.process import Process, priors_for

optuna.logging.set_verbosity(optuna.logging.ERROR)

CACHE = Knob(name="cache", title="cache", low=16, high=16384, log=True, default=16)
SHARE = Knob(name="share", title="share", low=0.1, high=0.9, integer=False, default=0.5)
DELAY = Knob(name="delay", title="delay", low=1, high=1000, log=True, special=(0, -1), default=0)
PACK = Knob(name="pack", title="pack", choices=("off", "fast", "small"), default="off")
WORKERS = Knob(name="workers", title="workers", low=1, high=8, default=2)
KNOBS = (CACHE, SHARE, DELAY, PACK, WORKERS)
Truth = Callable[[Assignment], float]


def truth(a: Assignment) -> float:
    """The best is a cache of 8192, a delay of -1 and `fast`: about 1,066."""
    gain = 1.0 - 0.08 * (math.log2(float(a["cache"])) - 13) ** 2 / 4 - (float(a["share"]) - 0.7) ** 2
    gain += 0.3 if a["delay"] == -1 else -0.02 * abs(math.log10(float(a["delay"]) or 3.0) - 1)
    gain += {"off": 0.0, "fast": 0.15, "small": -0.3}[str(a["pack"])] - 0.01 * (float(a["workers"]) - 4) ** 2
    return 250 * math.exp(gain)


def searched(name: str, seed: int, trials: int, of: Truth = truth, noise: float = 0.03) -> optuna.Study:
    sampler = make_sampler(name, seed=seed, knobs=KNOBS)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    study.enqueue_trial(space.parameters({}, KNOBS))
    for _ in range(trials):
        trial = study.ask()
        value = of(space.suggest(trial, KNOBS))
        draw = np.random.default_rng((seed, trial.number)).standard_normal()
        if math.isnan(value):
            study.tell(trial, state=TrialState.FAIL)
        else:
            study.tell(trial, value * math.exp(noise * draw))
    return study


def best_true(study: optuna.Study) -> float:
    return truth(space.assignment_of(study.best_params, KNOBS))


@pytest.mark.slow
def test_it_beats_random_search_on_a_noisy_function() -> None:
    seeds = range(8)
    ours = [best_true(searched("gp", seed, 25)) for seed in seeds]
    random = [best_true(searched("random", seed, 25)) for seed in seeds]
    assert sum(a > b for a, b in zip(ours, random, strict=True)) >= 6
    assert min(ours) > float(np.median(random))
    assert float(np.median(ours)) > 1.1 * float(np.median(random))


@pytest.mark.slow
def test_it_finds_the_special_value_that_is_best() -> None:
    found = [searched("gp", seed, 30).best_params["delay:mode"] for seed in range(5)]
    assert found.count("-1") >= 4


def failing(a: Assignment) -> float:
    """Too much cache does not start; a third of the space."""
    return math.nan if float(a["cache"]) > 1600 else truth(a)


@pytest.mark.slow
def test_failures_are_learned_from() -> None:
    failures = {
        name: sum(
            trial.state is TrialState.FAIL
            for seed in range(4)
            for trial in searched(name, seed, 30, failing).trials[10:]
        )
        for name in ("gp", "random")
    }
    assert failures["random"] >= 16
    assert failures["gp"] <= failures["random"] / 2


def test_a_study_of_failures_only_goes_on() -> None:
    study = searched("gp", 1, 14, lambda a: math.nan)
    assert len(study.trials) == 14


def test_a_value_of_a_trial_marked_as_failed_is_not_believed() -> None:
    study = searched("gp", 1, 5)
    trial = study.ask()
    space.suggest(trial, KNOBS)
    trial.set_user_attr("failed", True)
    study.tell(trial, 1e6)
    history = read(study, Cube(KNOBS), without=-1)
    assert (len(history.rows), len(history.failed)) == (5, 1)


def test_the_same_seed_gives_the_same_search_and_another_one_does_not() -> None:
    first, again, other = (searched("gp", seed, 14) for seed in (3, 3, 4))
    assert [trial.params for trial in first.trials] == [trial.params for trial in again.trials]
    assert first.trials[5].params != other.trials[5].params


def test_a_resumed_search_goes_on_as_if_it_had_not_stopped() -> None:
    whole = searched("gp", 3, 14)
    cut = optuna.create_study(direction="maximize", sampler=make_sampler("gp", seed=3, knobs=KNOBS))
    cut.add_trials(whole.trials[:13])
    trial = cut.ask()
    space.suggest(trial, KNOBS)
    assert trial.params == whole.trials[13].params


def test_pending_trials_are_not_proposed_again() -> None:
    study = searched("gp", 2, 12)
    asked = []
    for _ in range(4):
        trial = study.ask()
        space.suggest(trial, KNOBS)
        asked.append(tuple(sorted(trial.params.items())))
    assert len(set(asked)) == 4


def test_repeats_of_one_assignment_are_merged() -> None:
    study = optuna.create_study(direction="maximize")
    every = space.distributions(KNOBS)
    params = space.parameters({}, KNOBS)
    kinds = {name: every[name] for name in params}
    for value, sd in ((100.0, 1.0), (110.0, 3.0)):
        study.add_trial(
            optuna.create_trial(params=params, distributions=kinds, value=value, user_attrs={"score_sd": sd})
        )
    history = read(study, Cube(KNOBS), without=-1)
    assert history.repeats.tolist() == [2.0]
    assert history.known[0] == pytest.approx((0.01**2 + (3 / 110) ** 2) / 4)
    assert history.log


def test_values_that_are_not_positive_are_taken_as_they_are() -> None:
    study = optuna.create_study(direction="minimize", sampler=make_sampler("gp", seed=1, knobs=(SHARE,)))
    for _ in range(20):
        trial = study.ask()
        x = float(space.suggest(trial, (SHARE,))["share"])
        study.tell(trial, (x - 0.3) ** 2 - 1)
    assert study.best_params["share"] == pytest.approx(0.3, abs=0.03)
    assert not read(study, Cube((SHARE,)), without=-1).log


def test_a_space_of_few_points_can_be_measured_through() -> None:
    tiny = (Knob(name="on", title="on", choices=("yes", "no"), default="no"),)
    study = optuna.create_study(direction="maximize", sampler=GaussianProcessSampler(tiny, seed=1, startup=2))
    for _ in range(8):
        trial = study.ask()
        study.tell(trial, 200.0 if space.suggest(trial, tiny)["on"] == "yes" else 100.0)
    assert study.best_params == {"on": "yes"}


def test_it_recommends_what_is_good_not_what_was_lucky() -> None:
    study = searched("gp", 5, 25, noise=0.1)
    assert isinstance(study.sampler, GaussianProcessSampler)
    assert truth(study.sampler.recommend(study)) >= 0.9 * best_true(study)
    with pytest.raises(ValueError, match="score"):
        study.sampler.recommend(optuna.create_study())


@pytest.mark.parametrize("name", sorted(set(SAMPLERS) - {"optuna-gp"}))
def test_every_sampler_runs_with_conditional_knobs(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        study = searched(name, 1, 13)
    for trial in study.trials:
        assignment = space.assignment_of(trial.params, KNOBS)
        assert all(knob.admits(assignment[knob.name]) for knob in KNOBS)


def test_an_unknown_sampler_is_named() -> None:
    with pytest.raises(UsageError, match="magic"):
        make_sampler("magic", seed=1, knobs=KNOBS)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=50, deadline=None)
def test_rows_and_assignments_are_the_same_thing(seed: int) -> None:
    cube = Cube(KNOBS)
    row = cube.from_unit_cube(np.random.default_rng(seed).random((1, cube.width)))[0]
    assignment = cube.decode(row)
    assert all(knob.admits(assignment[knob.name]) for knob in KNOBS)
    again = cube.decode(cube.encode([assignment])[0])
    assert {k: v for k, v in again.items() if k != "share"} == {k: v for k, v in assignment.items() if k != "share"}
    assert again["share"] == pytest.approx(assignment["share"], rel=1e-12)


def test_a_number_that_means_nothing_makes_no_difference() -> None:
    cube = Cube((DELAY,))
    rows = cube.settled(np.array([[0.0, 0.1], [0.0, 0.9], [2.0, 0.9]]))
    assert rows[0].tolist() == rows[1].tolist()
    assert rows[2, 1] == pytest.approx(0.9, abs=1e-3)


def test_gradients_of_the_model_are_exact() -> None:
    rng = np.random.default_rng(1)
    cube = Cube(KNOBS)
    rows = cube.from_unit_cube(rng.random((12, cube.width)))
    model = Process(rows, rng.standard_normal(12), np.full(12, 0.01), np.ones(12), cube.categorical)
    theta, priors = 0.3 * rng.standard_normal(cube.width + 2), priors_for(cube.width)
    _, gradient = model._loss(theta, priors)
    for at in range(len(theta)):
        step = np.zeros_like(theta)
        step[at] = 1e-5
        numeric = (model._loss(theta + step, priors)[0] - model._loss(theta - step, priors)[0]) / 2e-5
        assert gradient[at] == pytest.approx(numeric, rel=1e-4, abs=1e-6)


def test_the_model_is_sure_where_it_was_told_and_unsure_elsewhere() -> None:
    x = np.array([[0.0], [0.1], [0.2], [0.3]])
    model = Process(x, np.array([-1.0, -0.3, 0.4, 1.0]), np.zeros(4), np.ones(4), np.array([False]))
    model.fit(priors_for(1), [np.array([0.0, 0.0, -3.0])])
    mean, variance = model.predict(np.array([[0.1], [0.9]]))
    assert mean[0] == pytest.approx(-0.3, abs=0.2)
    assert variance[1] > 3 * variance[0]


@pytest.mark.parametrize("z", [-40.0, -8.0, -1.0, -0.99, 0.0, 3.0])
def test_log_of_expected_improvement(z: float) -> None:
    found = float(log_expected_improvement(np.array([z * 2.0]), np.array([4.0]), 0.0)[0])
    if z > -6:
        pdf, cdf = math.exp(-(z**2) / 2) / math.sqrt(2 * math.pi), 0.5 * math.erfc(-z / math.sqrt(2))
        assert found == pytest.approx(math.log(2 * (pdf + z * cdf)), rel=1e-6, abs=1e-9)
    else:
        asymptotic = math.log(2) - z**2 / 2 - 0.5 * math.log(2 * math.pi) - 2 * math.log(-z)
        assert found == pytest.approx(asymptotic, abs=0.1)
