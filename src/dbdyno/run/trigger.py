"""Conditions that begin a saved incident: `threads_running > 50 for 3s`, read from samples as they come.

The name is a role (`waiting`), a column (`connections`), or `probe.column`; counters are taken as rates per second,
rows of keyed probes are summed. The idea is pt-stalk's (Percona Toolkit): keep looking, save when it happens.
"""

from __future__ import annotations

import difflib
import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dbdyno.model.errors import UsageError
from dbdyno.model.probe import Probe
from dbdyno.samples.series import SampleStore, Series

_SHAPE = re.compile(
    r"\s*(?P<name>[A-Za-z_][\w.]*)\s*(?P<compare>>=|<=|>|<)\s*(?P<value>-?\d+(?:\.\d+)?)\s*(?P<unit>[kKMG]?)"
    r"(?:\s+for\s+(?P<hold>\d+(?:\.\d+)?)\s*(?P<time>ms|s|min|m)?)?\s*"
)
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    ">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le,
}  # fmt: skip
_FACTORS = {"": 1.0, "k": 2.0**10, "K": 2.0**10, "M": 2.0**20, "G": 2.0**30}
_SECONDS = {"ms": 1e-3, "s": 1.0, "min": 60.0, "m": 60.0}
_ROOM_S = 2.5
"""A condition that holds for so many seconds needs an answer that is not older than this before its begin."""


@dataclass(frozen=True)
class Condition:
    """A comparison that has to hold for a time."""

    text: str
    name: str
    compare: str
    value: float
    hold_s: float

    def series(self, store: SampleStore) -> Series | None:
        """What the name means in these samples; None when nothing bears it."""
        probe, _, column = self.name.rpartition(".")
        if probe:
            return store.series(probe, column) if store.probe(probe) and column_of(store, probe, column) else None
        if (by_role := store.by_role(self.name)) is not None:
            return by_role
        found = [name for name in store.known() if column_of(store, name, self.name)]
        return store.series(found[0], self.name) if len(found) == 1 else None

    def met(self, store: SampleStore, now_s: float) -> bool:
        """Whether it has held all the time up to now. Missing answers meet nothing."""
        series = self.series(store)
        if series is None:
            return False
        there = np.isfinite(series.values) & (series.t_s >= now_s - self.hold_s - _ROOM_S) & (series.t_s <= now_s)
        t_s, values = series.t_s[there], series.values[there]
        if not len(t_s) or t_s[-1] < now_s - _ROOM_S:
            return False
        compare = _COMPARE[self.compare]
        since: float | None = None
        for at, value in zip(t_s, values, strict=True):
            since = (at if since is None else since) if compare(float(value), self.value) else None
        return since is not None and bool(t_s[-1] - since >= self.hold_s)


def column_of(store: SampleStore, probe: str, column: str) -> bool:
    return any(one.name == column for one in store.columns(probe))


def parse_condition(text: str) -> Condition:
    """Reads `name > number [for time]`. Raises `UsageError`."""
    found = _SHAPE.fullmatch(text)
    if found is None:
        raise UsageError(
            "This is not a condition.", found=repr(text), todo='write "waiting > 50 for 3s" (compare with > >= < <=)'
        )
    hold = float(found["hold"]) * _SECONDS[found["time"] or "s"] if found["hold"] else 0.0
    return Condition(
        text=text.strip(),
        name=found["name"],
        compare=found["compare"],
        value=float(found["value"]) * _FACTORS[found["unit"]],
        hold_s=hold,
    )


def check_condition(condition: Condition, probes: Sequence[Probe]) -> None:
    """Raises `UsageError`, with what there is, when no probe or several have what the condition names."""
    probe, _, name = condition.name.rpartition(".")
    fits = [
        (one.name, column)
        for one in probes
        for column in one.columns
        if (not probe and condition.name == column.role) or (column.name == name and probe in ("", one.name))
    ]
    by_role = [pair for pair in fits if pair[1].role == condition.name]
    if len(by_role or fits) == 1:
        return
    if fits:
        raise UsageError(
            f"{condition.name} stands in several probes.", todo="write " + " or ".join(f"{at}.{name}" for at, _ in fits)
        )
    roles = sorted({column.role for one in probes for column in one.columns if column.role})
    near = difflib.get_close_matches(condition.name, roles, n=1)
    raise UsageError(
        f"Nothing that is asked is called {condition.name}.",
        found=f"did you mean {near[0]}?" if near else "",
        todo="use a role (" + ", ".join(roles) + ") or probe.column",
    )
