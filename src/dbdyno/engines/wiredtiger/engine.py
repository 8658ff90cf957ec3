"""MongoDB with WiredTiger as an engine that can be checked, held to a contract and given a configuration."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from dbdyno.model.engine import Inspection
from dbdyno.model.knob import Advice, Assignment, KnobSpace
from dbdyno.model.machine import Machine
from dbdyno.model.target import Secret, Target

_HERE = Path(__file__).parent


class WiredTiger:
    name = "wiredtiger"
    schemes: tuple[str, ...] = ("mongodb", "mongodb+srv")

    def target(self, url: str, environment: Mapping[str, str]) -> tuple[Target, Secret]:
        from dbdyno.engines.wiredtiger import target as target_

        return target_.parse(url, environment)

    def connect(self, target: Target, secret: Secret) -> Inspection:
        from dbdyno.engines.wiredtiger import session

        return session.connect(target, secret)

    def knobs(self, machine: Machine, version: int) -> KnobSpace:
        from dbdyno.engines.knobfile import load_knobs

        return load_knobs(_HERE / "knobs.toml", machine, version)

    def advice(self, machine: Machine, version: int) -> list[Advice]:
        from dbdyno.engines.wiredtiger import formulas

        return formulas.advice(machine, version)

    def render(self, assignment: Assignment) -> tuple[str, list[str]]:
        from dbdyno.engines.wiredtiger import formulas

        return formulas.render(assignment)


ENGINE = WiredTiger()
