"""Knobs as parameters of the search, and back.

A plain number becomes a number, a word a category. A knob with special values (0 or -1 that switch a mechanism off)
becomes two parameters: first `name:mode`, one of the special values or `numeric`; only when that says `numeric`, the
number `name`. Special values are thus never mistaken for neighbours of small numbers.

Nothing is lost on the way: what is put in as an assignment comes out as the same assignment.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from dbdyno.model.errors import UsageError
from dbdyno.model.knob import Assignment, Knob, Value

NUMERIC = "numeric"
_MODE = ":mode"


def mode_name(knob: Knob) -> str:
    """Name of the parameter that decides between the special values and a number."""
    return knob.name + _MODE


def options(knob: Knob) -> tuple[str, ...]:
    """The categories of a knob: its words, or its special values and `numeric`; empty for a plain number."""
    special = tuple(str(value) for value in knob.special)
    if knob.choices:
        return knob.choices + tuple(word for word in special if word not in knob.choices)
    return (*special, NUMERIC) if special else ()


def bounds(knob: Knob) -> tuple[float, float]:
    """Lowest and highest number that the search may ask for; whole for integer knobs."""
    assert knob.low is not None, knob.name
    assert knob.high is not None, knob.name
    assert knob.low <= knob.high, knob.name
    assert knob.low > 0 or not knob.log, knob.name
    if knob.integer:
        return float(math.ceil(knob.low)), float(math.floor(knob.high))
    return float(knob.low), float(knob.high)


def distributions(knobs: Iterable[Knob]) -> dict[str, BaseDistribution]:
    """All parameters, conditional numbers included, in the order in which they are asked for."""
    found: dict[str, BaseDistribution] = {}
    for knob in knobs:
        if knob.choices:
            found[knob.name] = CategoricalDistribution(options(knob))
            continue
        if knob.special:
            found[mode_name(knob)] = CategoricalDistribution(options(knob))
        low, high = bounds(knob)
        if knob.integer:
            found[knob.name] = IntDistribution(int(low), int(high), log=knob.log)
        else:
            found[knob.name] = FloatDistribution(low, high, log=knob.log)
    return found


def suggest(trial: optuna.Trial, knobs: Iterable[Knob]) -> Assignment:
    """Asks the study for one value of each knob."""
    params: dict[str, Any] = {}
    knobs = tuple(knobs)
    for knob in knobs:
        for name, distribution in distributions((knob,)).items():
            if name == knob.name and params.get(mode_name(knob), NUMERIC) != NUMERIC:
                continue
            params[name] = _ask(trial, name, distribution)
    return assignment_of(params, knobs)


def _ask(trial: optuna.Trial, name: str, distribution: BaseDistribution) -> Any:
    if isinstance(distribution, CategoricalDistribution):
        return trial.suggest_categorical(name, distribution.choices)
    if isinstance(distribution, IntDistribution):
        return trial.suggest_int(name, distribution.low, distribution.high, log=distribution.log)
    assert isinstance(distribution, FloatDistribution)
    return trial.suggest_float(name, distribution.low, distribution.high, log=distribution.log)


def assignment_of(params: Mapping[str, Any], knobs: Iterable[Knob]) -> Assignment:
    """The assignment that a trial's parameters stand for; knobs without a parameter are left out."""
    assignment: Assignment = {}
    for knob in knobs:
        mode = params.get(mode_name(knob), NUMERIC)
        if mode != NUMERIC:
            assignment[knob.name] = _special(knob, str(mode))
        elif knob.name in params:
            assignment[knob.name] = _value(knob, params[knob.name])
    return assignment


def parameters(assignment: Assignment, knobs: Iterable[Knob]) -> dict[str, Any]:
    """Parameters for `study.enqueue_trial`. Knobs that the assignment does not name stand at their default.

    Numbers outside the range come out at its nearest end (see `outside`). Raises `UsageError` for a word that the knob
    does not have.
    """
    params: dict[str, Any] = {}
    for knob in knobs:
        value = assignment.get(knob.name, knob.default)
        if knob.choices:
            word = str(value)
            if word not in options(knob):
                raise _refuse(knob, value)
            params[knob.name] = word
            continue
        if knob.special:
            special = _matching_special(knob, value)
            params[mode_name(knob)] = NUMERIC if special is None else str(special)
            if special is not None:
                continue
        params[knob.name] = _clipped(knob, value)
    return params


def outside(assignment: Assignment, knobs: Iterable[Knob]) -> dict[str, Value]:
    """Settings of the assignment that the search could not have asked for (a stock default below our range)."""
    named = {knob.name: knob for knob in knobs}
    return {
        name: value
        for name, value in assignment.items()
        if name in named and _matching_special(named[name], value) is None and not named[name].admits(value)
    }


def rounded(assignment: Assignment, knobs: Iterable[Knob]) -> Assignment:
    """The assignment with numbers that a person would write: two significant digits, memory in whole megabytes.

    Throughput does not turn on the third digit of a setting, and nobody wants to read it. Special values, words and
    what would leave its range stay as they are.
    """
    named = {knob.name: knob for knob in knobs}
    return {name: _rounded(named.get(name), value) for name, value in assignment.items()}


def _rounded(knob: Knob | None, value: Value) -> Value:
    if knob is None or knob.choices or isinstance(value, str) or _matching_special(knob, value) is not None:
        return value
    per_megabyte = (1 << 20) / _unit_bytes(knob.unit) if _unit_bytes(knob.unit) else 0.0
    if per_megabyte and value >= per_megabyte:
        near = two_digits(value / per_megabyte) * per_megabyte
    else:
        near = two_digits(value)
    written: Value = round(near) if knob.integer else near
    return written if knob.admits(written) else value


def two_digits(number: float) -> float:
    """The number with two significant digits; whole numbers below 100 stay as they are."""
    if number == 0:
        return 0.0
    return round(number, 1 - math.floor(math.log10(abs(number))))


def _unit_bytes(unit: str) -> int:
    """Bytes of one unit such as `8kB` or `MB`; 0 when it is no unit of memory."""
    match = re.fullmatch(r"(\d*)(B|kB|MB|GB)", unit)
    return int(match[1] or 1) * {"B": 1, "kB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}[match[2]] if match else 0


def _matching_special(knob: Knob, value: Value) -> Value | None:
    for special in knob.special:
        if special == value or str(special) == str(value):
            return special
    return None


def _special(knob: Knob, mode: str) -> Value:
    for special in knob.special:
        if str(special) == mode:
            return special
    raise _refuse(knob, mode)


def _value(knob: Knob, raw: Any) -> Value:
    if knob.choices:
        # A special value of a worded knob keeps its own type.
        special = None if raw in knob.choices else _matching_special(knob, raw)
        return str(raw) if special is None else special
    return int(raw) if knob.integer else float(raw)


def _clipped(knob: Knob, value: Value) -> Value:
    low, high = bounds(knob)
    try:
        number = float(value)
    except ValueError:
        raise _refuse(knob, value) from None
    if knob.integer and low <= number <= high:
        return round(number)
    number = min(max(number, low), high)
    return int(number) if knob.integer else number


def _refuse(knob: Knob, value: Value) -> UsageError:
    known = ", ".join(options(knob)) or "a number"
    if not knob.choices:
        known += f" between {knob.low:g} and {knob.high:g}"
    return UsageError(
        f"{knob.name} cannot be {value!r}.", found=f"it takes: {known}", todo="correct the value, or leave it out"
    )
