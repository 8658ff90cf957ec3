"""What goes into the search as an assignment comes out as the same assignment."""

from __future__ import annotations

import msgspec
import optuna
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dbdyno.model.errors import UsageError
from dbdyno.model.knob import Assignment, Knob, Value
from dbdyno.tune.space import assignment_of, distributions, outside, parameters, rounded, suggest

optuna.logging.set_verbosity(optuna.logging.ERROR)

CACHE = Knob(name="cache", title="cache", low=16, high=1 << 40, log=True, default=1024)
SHARE = Knob(name="share", title="share", low=0.1, high=0.9, integer=False, default=0.5)
DELAY = Knob(name="delay", title="delay", low=1, high=10000, log=True, special=(0, -1), default=0)
PACK = Knob(name="pack", title="pack", choices=("off", "lz4", "zstd"), default="off")
WAIT = Knob(name="wait", title="wait", choices=("short", "long"), special=(0,), default="short")
KNOBS = (CACHE, SHARE, DELAY, PACK, WAIT)


def values(knob: Knob) -> st.SearchStrategy[Value]:
    parts: list[st.SearchStrategy[Value]] = [st.sampled_from(knob.special)] if knob.special else []
    if knob.choices:
        parts.append(st.sampled_from(knob.choices))
    elif knob.integer:
        assert knob.low is not None
        assert knob.high is not None
        parts.append(st.integers(int(knob.low), int(knob.high)))
    else:
        parts.append(st.floats(knob.low, knob.high))
    return st.one_of(parts)


assignments = st.fixed_dictionaries({knob.name: values(knob) for knob in KNOBS})


def asked(study: optuna.Study) -> tuple[Assignment, optuna.Trial]:
    trial = study.ask()
    return suggest(trial, KNOBS), trial


@given(assignments)
def test_parameters_and_back(assignment: Assignment) -> None:
    back = assignment_of(parameters(assignment, KNOBS), KNOBS)
    assert back == assignment
    assert {name: type(value) for name, value in back.items()} == {n: type(v) for n, v in assignment.items()}
    assert not outside(assignment, KNOBS)


@settings(max_examples=25, deadline=None)
@given(assignments)
def test_an_enqueued_assignment_is_the_one_that_is_suggested(assignment: Assignment) -> None:
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(seed=1))
    study.enqueue_trial(parameters(assignment, KNOBS))
    found, trial = asked(study)
    assert found == assignment
    assert assignment_of(trial.params, KNOBS) == assignment


@given(st.integers(0, 10_000))
@settings(max_examples=25, deadline=None)
def test_whatever_is_suggested_is_admitted(seed: int) -> None:
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(seed=seed))
    found, trial = asked(study)
    assert all(knob.admits(found[knob.name]) for knob in KNOBS)
    assert assignment_of(trial.params, KNOBS) == found
    assert ("delay" in trial.params) == (found["delay"] not in DELAY.special)


def test_a_conditional_number_is_asked_for_only_when_the_mode_says_so() -> None:
    assert parameters({"delay": -1}, (DELAY,)) == {"delay:mode": "-1"}
    assert parameters({"delay": 7}, (DELAY,)) == {"delay:mode": "numeric", "delay": 7}
    assert parameters({}, (DELAY,)) == {"delay:mode": "0"}
    assert list(distributions(KNOBS)) == ["cache", "share", "delay:mode", "delay", "pack", "wait"]


def test_a_special_value_given_as_text_is_recognised() -> None:
    assert parameters({"delay": "-1"}, (DELAY,)) == {"delay:mode": "-1"}
    assert assignment_of({"delay:mode": "-1"}, (DELAY,)) == {"delay": -1}


def test_numbers_beyond_the_range_are_clipped_and_named() -> None:
    assert parameters({"cache": 1, "share": 2.0}, (CACHE, SHARE)) == {"cache": 16, "share": 0.9}
    assert outside({"cache": 1, "share": 0.5, "pack": "gzip"}, KNOBS) == {"cache": 1, "pack": "gzip"}


@pytest.mark.parametrize("assignment", [{"pack": "gzip"}, {"cache": "much"}])
def test_a_word_that_the_knob_does_not_have_is_refused(assignment: Assignment) -> None:
    with pytest.raises(UsageError, match="cannot be"):
        parameters(assignment, KNOBS)


def test_numbers_are_written_as_a_person_would() -> None:
    pages = Knob(name="cache", title="cache", unit="8kB", low=16384, high=2_000_000, log=True, default=16384)
    delay = Knob(name="delay", title="delay", unit="ms", low=10, high=1000, log=True, default=200)
    target = Knob(name="target", title="target", low=0.5, high=0.95, integer=False, default=0.9)
    off = Knob(name="off", title="off", low=20, high=5000, special=(0,), default=0)
    knobs = (pages, delay, target, off)
    found = rounded({"cache": 610907, "delay": 211, "target": 0.860846, "off": 0, "other": "word"}, knobs)
    assert found == {"cache": 4800 * 128, "delay": 210, "target": 0.86, "off": 0, "other": "word"}
    assert rounded({"delay": 14}, knobs) == {"delay": 14}
    # What rounding would put out of its range stays.
    narrow = msgspec.structs.replace(target, high=0.949)
    assert rounded({"target": 0.949}, (narrow,)) == {"target": 0.949}
