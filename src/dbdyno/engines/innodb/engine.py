"""InnoDB as an engine: everything else asks this object."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from dbdyno.engines import _mysql
from dbdyno.model.engine import Recipe, Session
from dbdyno.model.knob import Advice, Assignment, KnobSpace
from dbdyno.model.machine import Machine
from dbdyno.model.probe import Probe
from dbdyno.model.target import Secret, Target

_HERE = Path(__file__).parent
_SHARED = Path(_mysql.__file__).parent


class InnoDB:
    name = "innodb"
    dialect = "mysql"

    def __init__(self, *products: str) -> None:
        self.schemes: tuple[str, ...] = (*products, *(f"{product}+{self.name}" for product in products))
        self._products = products

    def target(self, url: str, environment: Mapping[str, str]) -> tuple[Target, Secret]:
        from dbdyno.engines._mysql import target

        return target.parse(url, environment, engine=self.name)

    def connect(self, target: Target, secret: Secret) -> Session:
        from dbdyno.engines.innodb.session import InnoDBSession

        return InnoDBSession(target, secret)

    def probes(self, version: int) -> list[Probe]:
        from dbdyno.engines.probefile import load_probes

        return load_probes(_HERE / "probes", version, _SHARED / "probes")

    def knobs(self, machine: Machine, version: int) -> KnobSpace:
        from dbdyno.engines.knobfile import load_knobs

        return load_knobs(_HERE / "knobs.toml", machine, version, _SHARED / "knobs.toml")

    def advice(self, machine: Machine, version: int) -> list[Advice]:
        from dbdyno.engines.innodb import formulas

        return formulas.advice(machine, version)

    def render(self, assignment: Assignment) -> tuple[str, list[str]]:
        from dbdyno.engines._mysql import units

        return units.render(assignment, _HERE / "knobs.toml", _SHARED / "knobs.toml")

    def recipe(self) -> Recipe:
        from dbdyno.engines._mysql.server import MySQLRecipe

        return MySQLRecipe({product: product for product in self._products})


ENGINE = InnoDB("mariadb", "mysql")
VARIANTS = (InnoDB("mariadb"), InnoDB("mysql"))
