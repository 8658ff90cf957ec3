"""Whole configurations from published formulas."""

from __future__ import annotations

from dbdyno.model.knob import Advice
from dbdyno.model.machine import Machine


def advice(machine: Machine, version: int) -> list[Advice]:
    """The configurations that a study measures before it searches."""
    return []
