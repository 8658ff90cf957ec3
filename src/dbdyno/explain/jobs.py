"""Jobs beside the server as events: a backup, a copy, a job of the clock, from when it began to when it was gone."""

from __future__ import annotations

import bisect
from collections.abc import Iterator

from dbdyno.model.recording import Event
from dbdyno.model.units import seconds_text
from dbdyno.samples.series import SampleStore

_SAME_S = 3.0
"""Two looks that put the begin of a job of one name this near to each other saw the same one."""


def jobs(store: SampleStore) -> list[Event]:
    """Begins are what the processes themselves say; ends are known to a look."""
    found = store.find_role("job_age_s")
    if found is None:
        return []
    probe, column = found
    looks: list[float] = []
    kinds: dict[str, str] = {}
    ages: dict[str, dict[float, float]] = {}
    for sample in store.samples(probe):
        if sample.unknown:
            continue
        looks.append(sample.t_s)
        for row in sample.rows:
            name, age_s = str(row.get("job")), row.get(column)
            kinds[name] = str(row.get("kind") or "job")
            if isinstance(age_s, int | float):
                ages.setdefault(name, {})[sample.t_s] = float(age_s)
    return [event for name, seen in ages.items() for event in _events(name, kinds[name], seen, looks)]


def _events(name: str, kind: str, ages: dict[float, float], looks: list[float]) -> Iterator[Event]:
    for said_s, first_s, last_s in _spans(ages):
        # A program that took over a process (`exec`) is younger than that: at the look before it was not there yet.
        before = bisect.bisect_left(looks, first_s) - 1
        begin_s = max(said_s, looks[before]) if before >= 0 else said_s
        after = bisect.bisect_right(looks, last_s)
        gone = after < len(looks)
        end_s = looks[after] if gone else last_s
        ran = f"for {seconds_text(end_s - begin_s)}" if gone else "to the end of the record"
        says = f"{name} ran {ran}" + (" (began before)" if begin_s < 0 else "")
        yield Event(t_s=max(0.0, begin_s), end_s=end_s, kind=kind, says=says)


def _spans(ages: dict[float, float]) -> list[tuple[float, float, float]]:
    """Begin as it says itself, first and last sight of each job of one name: the same begin is the same job."""
    spans: list[tuple[float, float, float]] = []
    for t_s in sorted(ages):
        begin_s = t_s - ages[t_s]
        if spans and abs(spans[-1][0] - begin_s) <= _SAME_S:
            spans[-1] = (*spans[-1][:2], t_s)
        else:
            spans.append((begin_s, t_s, t_s))
    return spans
