"""PostgreSQL as an engine: everything else asks this object."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from dbdyno.model.engine import Recipe, Session
from dbdyno.model.knob import Advice, Assignment, KnobSpace
from dbdyno.model.machine import Machine
from dbdyno.model.probe import Probe
from dbdyno.model.target import Secret, Target

_HERE = Path(__file__).parent


class PostgreSQL:
    name = "postgresql"
    schemes: tuple[str, ...] = ("postgresql", "postgres")
    dialect = "postgresql"

    def target(self, url: str, environment: Mapping[str, str]) -> tuple[Target, Secret]:
        from dbdyno.engines.postgresql import target

        return target.parse(url, environment)

    def connect(self, target: Target, secret: Secret) -> Session:
        from dbdyno.engines.postgresql import session

        return session.connect(target, secret)

    def probes(self, version: int) -> list[Probe]:
        from dbdyno.engines.probefile import load_probes

        return load_probes(_HERE / "probes", version)

    def knobs(self, machine: Machine, version: int) -> KnobSpace:
        from dbdyno.engines.knobfile import load_knobs

        return load_knobs(_HERE / "knobs.toml", machine, version)

    def advice(self, machine: Machine, version: int) -> list[Advice]:
        from dbdyno.engines.postgresql import formulas

        return formulas.advice(machine, version)

    def render(self, assignment: Assignment) -> tuple[str, list[str]]:
        from dbdyno.engines.postgresql import formulas

        return formulas.render(assignment)

    def recipe(self) -> Recipe:
        from dbdyno.engines.postgresql.server import PostgreSQLRecipe

        return PostgreSQLRecipe()


ENGINE = PostgreSQL()
