"""Saved answers of db.serverStatus() as a recording: one moment, or several over time, in one file or many.

Each may be JSON, extended JSON or what a shell prints; times are the server's own (`localTime`). Gauges stand at the
time of their document, counters are rates since the one before. A single document's rates are means since the server's
start. What a version does not say is missing from the recording, so that a diagnosis that needs it says unknown.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dbdyno.engines.wiredtiger import documents, printed, status
from dbdyno.model.errors import UsageError
from dbdyno.model.facts import Facts
from dbdyno.model.recording import Event, MemoryRecording, Series, Stall, rise_per_s
from dbdyno.stats.stalls import dips

_STEP_S = 1.0
"""Distance of documents that say no time."""
_LOOKED_AT_MAX = 20
"""Documents of a text in which one of ours is looked for."""
_BUSY = 0.8
"""A dip is a stall only while at least this share of the usual number of clients is busy; else less was asked for."""
_WORDS = re.compile(r"opcounters")
_MARKS = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|\'(?:[^\'\\]|\\.)*+(?:\'|\\?\Z)|[{}]', re.DOTALL)
"""Quoted words and braces. A word that nothing closes goes on to the end: else each of many would be looked through."""
_OPENING = re.compile(r"\{")


def recognises(text: str) -> bool:
    """Whether a document in it, among the first, is an answer of serverStatus."""
    if not _WORDS.search(text):
        return False
    for count, one in enumerate(_pieces(text)):
        if count >= _LOOKED_AT_MAX:
            break
        try:
            if _status(printed.document(one)) is not None:
                return True
        except ValueError:
            continue
    return False


def recording(texts: Sequence[str]) -> MemoryRecording:
    """The documents over time. Raises `UsageError` when one cannot be read, or when they are of several servers."""
    found = [one for number, text in enumerate(texts, start=1) for one in _statuses(text, number)]
    hosts = sorted({str(one["host"]) for one in found if one.get("host")})
    if len(hosts) > 1:
        raise UsageError(
            "The saved answers are of several servers.",
            found=", ".join(hosts[:5]),
            todo="explain each server by itself",
        )
    found = _in_order(found)
    t_s = _times(found)
    facts = Facts(documents.facts_of("serverStatus", found[-1], "serverStatus"))
    made = MemoryRecording(duration_s=t_s[-1] - t_s[0], facts=facts, events=_restarts(found, t_s))
    for column in status.GAUGES:
        _add(made, column, t_s, [status.value(one, column) for one in found])
    for column in status.COUNTERS:
        _add(made, column, t_s, _rates([status.value(one, column) for one in found], found, t_s))
    writes = status.Column("writes", (), "1/s", role="rows_written")
    _add(made, writes, t_s, _rates([status.writes(one) for one in found], found, t_s))
    operations = _numbers(_rates([status.operations(one) for one in found], found, t_s))
    if len(found) > 1:
        made.throughput = Series("throughput", np.array(t_s), np.array(operations), "1/s")
        made.stalls = _stalls(made)
    return made


def _statuses(text: str, number: int) -> Iterator[dict[str, Any]]:
    some, why = False, "there is no document in it"
    for piece in _pieces(text):
        try:
            one = _status(printed.document(piece))
        except ValueError as error:
            why = str(error)
            continue
        if one is not None:
            some = True
            yield one
    if not some:
        raise UsageError(
            f"Saved text {number} holds no answer of serverStatus that can be read.",
            found=why,
            todo="save it whole: mongosh --quiet --eval 'EJSON.stringify(db.serverStatus())'",
        )


def _status(document: Any) -> dict[str, Any] | None:
    """The answer itself, or the one that a document holds under the command's name."""
    if isinstance(document, dict) and not status.is_status(document):
        document = document.get("serverStatus")
    return dict(document) if status.is_status(document) else None


def _pieces(text: str) -> Iterator[str]:
    """The outermost documents of a text; what stands between them (prompts, commas) is passed over, and so is one that
    was cut off."""
    at = 0
    while opening := _OPENING.search(text, at):
        depth = 0
        for mark in _MARKS.finditer(text, opening.start()):
            depth += {"{": 1, "}": -1}.get(mark[0], 0)
            if not depth:
                yield text[opening.start() : mark.end()]
                at = mark.end()
                break
        else:
            return


def _in_order(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """By the server's time where all say it; the same moment twice counts once."""
    moments = [printed.seconds_of(one.get("localTime")) for one in found]
    if any(moment is None for moment in moments):
        return found
    by_time = {moment: one for moment, one in zip(moments, found, strict=True)}
    return [by_time[moment] for moment in sorted(by_time, key=lambda one: one or 0.0)]


def _times(found: list[dict[str, Any]]) -> list[float]:
    moments = [printed.seconds_of(one.get("localTime")) for one in found]
    if any(moment is None for moment in moments):
        return [_STEP_S * index for index in range(len(found))]
    first = moments[0] or 0.0
    return [(moment or 0.0) - first for moment in moments]


def _uptime_s(document: dict[str, Any]) -> float:
    millis = document.get("uptimeMillis")
    value = millis / 1e3 if isinstance(millis, int | float) else document.get("uptime", 0.0)
    return float(value) if isinstance(value, int | float) else 0.0


def _restarts(found: list[dict[str, Any]], t_s: list[float]) -> tuple[Event, ...]:
    return tuple(
        Event(t_s=t_s[index], kind="restart", says="the server's uptime fell")
        for index in range(1, len(found))
        if _uptime_s(found[index]) < _uptime_s(found[index - 1])
    )


def _rates(counts: list[float | None], found: list[dict[str, Any]], t_s: list[float]) -> list[float | None]:
    """Per second since the document before; of a single document since the server's start."""
    first, uptime_s = counts[0], _uptime_s(found[0])
    rates = [first / uptime_s if len(found) == 1 and first is not None and uptime_s > 0 else None]
    for index in range(1, len(counts)):
        anew = _uptime_s(found[index]) < _uptime_s(found[index - 1])
        before = None if anew else counts[index - 1]
        rates.append(rise_per_s(before, counts[index], t_s[index] - t_s[index - 1]))
    return rates


def _add(made: MemoryRecording, column: status.Column, t_s: list[float], values: list[float | None]) -> None:
    if any(value is not None for value in values):
        made.add(f"wiredtiger.{column.name}", t_s, _numbers(values), unit=column.unit, role=column.role)


def _numbers(values: list[float | None]) -> list[float]:
    return [math.nan if value is None else value for value in values]


def _stalls(made: MemoryRecording) -> tuple[Stall, ...]:
    """Dips of the operations while clients were held up."""
    candidates = tuple(
        Stall(
            start_s=one.start_s,
            end_s=one.end_s,
            usual_per_s=one.level,
            lowest_per_s=one.lowest,
            mean_per_s=one.mean,
            lost=one.lost,
        )
        for one in dips(made.throughput.t_s, made.throughput.values)
        if not one.at_start
    )
    if not candidates or not {"wiredtiger.active", "wiredtiger.queued"} <= set(made.names()):
        return ()
    active, queued = made.series("wiredtiger", "active"), made.series("wiredtiger", "queued")
    busy = Series("wiredtiger.busy", active.t_s, active.values + queued.values)
    usual = busy.outside(candidates)
    if not len(usual):
        return ()
    least = max(1.0, _BUSY * usual.mean())
    return tuple(one for one in candidates if len(busy.during(one)) and busy.during(one).mean() >= least)
