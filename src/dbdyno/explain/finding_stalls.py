"""Which dips are stalls.

Under a load of ours every dip of a measured phase is one. On a server that we only watch, fewer commits may as well
mean that fewer were asked for: there a dip is a stall only while clients are held up, that is while at least as many
are busy as usual; else it is a lull, and said to be one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dbdyno.explain.load import Stretch
from dbdyno.model.facts import MissingFact
from dbdyno.model.recording import Floats, Series, Stall, StallKind
from dbdyno.stats.phases import PhaseKind, phases
from dbdyno.stats.stalls import Dip, dips

STALLS_MAX = 200
"""The worst are kept and judged; a record with more is not about single stalls."""
_HELD_UP = 0.8
"""A dip is a stall when at least this share of the usual number of busy clients is there …"""
_BUSY_MIN = 1.0
"""… and this many on average."""


@dataclass(frozen=True)
class Lull:
    """Less was done because less was asked for."""

    start_s: float
    end_s: float
    says: str


def driver_stalls(stretches: Sequence[Stretch]) -> tuple[Stall, ...]:
    found: list[Stall] = []
    for one in stretches:
        found += _stalls(one.t_s, one.per_s, float(np.median(one.seconds)) if len(one.seconds) else None)
    return _worst(found)


def server_stalls(throughput: Series, busy: Series | None) -> tuple[tuple[Stall, ...], list[Lull]]:
    """`busy` is the number of busy clients; without it nothing can be called a stall."""
    stalls: list[Stall] = []
    lulls: list[Lull] = []
    candidates = tuple(_stalls(throughput.t_s, throughput.values, None))
    for one in candidates:
        why = _why_lull(one, candidates, busy)
        if why:
            lulls.append(Lull(one.start_s, one.end_s, why))
        else:
            stalls.append(one)
    return _worst(stalls), lulls


def _why_lull(stall: Stall, all_stalls: tuple[Stall, ...], busy: Series | None) -> str:
    """Why a dip of the commits is none of a stall; empty when it is one."""
    if busy is None:
        return "how many clients were busy is not known"
    try:
        held, usual = busy.during(stall).mean(), busy.outside(all_stalls).mean()
    except MissingFact:
        return "how many clients were busy is not known there"
    if held >= max(_BUSY_MIN, _HELD_UP * usual):
        return ""
    return f"{held:.1f} clients were busy, usually {usual:.1f}: less was asked for"


def _stalls(t_s: Floats, values: Floats, step_s: float | None) -> list[Stall]:
    found = [_from_dip(dip) for dip in dips(t_s, values, step_s=step_s) if not dip.at_start]
    for phase in phases(t_s, values):
        covered = sum(max(0.0, min(one.end_s, phase.end_s) - max(one.start_s, phase.start_s)) for one in found)
        if phase.kind is PhaseKind.DEGRADED and covered < 0.5 * (phase.end_s - phase.start_s):
            inside = values[(t_s > phase.start_s) & (t_s <= phase.end_s)]
            inside = inside[np.isfinite(inside)]
            if not inside.size:
                continue
            seconds = phase.end_s - phase.start_s
            found.append(
                Stall(
                    start_s=phase.start_s,
                    end_s=phase.end_s,
                    usual_per_s=phase.before,
                    lowest_per_s=float(inside.min()),
                    mean_per_s=float(inside.mean()),
                    lost=max(0.0, (phase.before - float(inside.mean())) * seconds),
                    kind=StallKind.DEGRADED,
                )
            )
    return found


def _from_dip(dip: Dip) -> Stall:
    return Stall(
        start_s=dip.start_s,
        end_s=dip.end_s,
        usual_per_s=dip.level,
        lowest_per_s=dip.lowest,
        mean_per_s=dip.mean,
        lost=dip.lost,
    )


def _worst(found: list[Stall]) -> tuple[Stall, ...]:
    worst = sorted(found, key=lambda one: -one.lost)[:STALLS_MAX]
    return tuple(sorted(worst, key=lambda one: one.start_s))
