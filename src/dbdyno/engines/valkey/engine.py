"""Valkey and Redis as an engine that can be checked and advised; there is no load and no sandbox for it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from dbdyno.engines.valkey import target as target_
from dbdyno.model.engine import Inspection
from dbdyno.model.knob import Advice, Assignment, KnobSpace
from dbdyno.model.machine import Machine
from dbdyno.model.target import Secret, Target

_HERE = Path(__file__).parent


class Valkey:
    name = target_.ENGINE_NAME

    def __init__(self, *schemes: str) -> None:
        self.schemes: tuple[str, ...] = schemes

    def target(self, url: str, environment: Mapping[str, str]) -> tuple[Target, Secret]:
        return target_.parse(url, environment)

    def connect(self, target: Target, secret: Secret) -> Inspection:
        from dbdyno.engines.valkey import session

        return session.connect(target, secret)

    def knobs(self, machine: Machine, version: int) -> KnobSpace:
        from dbdyno.engines.knobfile import load_knobs

        return load_knobs(_HERE / "knobs.toml", machine, version)

    def advice(self, machine: Machine, version: int) -> list[Advice]:
        from dbdyno.engines.valkey import formulas

        return formulas.advice(machine, version)

    def render(self, assignment: Assignment) -> tuple[str, list[str]]:
        from dbdyno.engines.valkey import conffile

        return conffile.render(assignment)


ENGINE = Valkey(*target_.SCHEMES)
VARIANTS = (Valkey("valkey", "valkeys", "valkey+socket"), Valkey("redis", "rediss", "redis+socket"))
