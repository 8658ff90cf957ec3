"""InnoDB as an engine: everything else asks this object."""

from __future__ import annotations

from pathlib import Path

from dbdyno.engines._mysql.base import FamilyEngine
from dbdyno.model.engine import Recipe, Session
from dbdyno.model.knob import Advice
from dbdyno.model.machine import Machine
from dbdyno.model.target import Secret, Target


class InnoDB(FamilyEngine):
    name = "innodb"
    folder = Path(__file__).parent

    def __init__(self, *products: str) -> None:
        self.schemes: tuple[str, ...] = (*products, *(f"{product}+{self.name}" for product in products))
        self._products = products

    def connect(self, target: Target, secret: Secret) -> Session:
        from dbdyno.engines.innodb.session import InnoDBSession

        return InnoDBSession(target, secret)

    def advice(self, machine: Machine, version: int) -> list[Advice]:
        from dbdyno.engines.innodb import formulas

        return formulas.advice(machine, version)

    def recipe(self) -> Recipe:
        from dbdyno.engines._mysql.server import MySQLRecipe

        return MySQLRecipe({product: product for product in self._products})


ENGINE = InnoDB("mariadb", "mysql")
VARIANTS = (InnoDB("mariadb"), InnoDB("mysql"))
