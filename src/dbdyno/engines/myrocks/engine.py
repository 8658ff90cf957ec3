"""MyRocks as an engine: everything else asks this object."""

from __future__ import annotations

from pathlib import Path

from dbdyno.engines._mysql.base import FamilyEngine
from dbdyno.model.engine import Recipe, Session
from dbdyno.model.knob import Advice, Assignment
from dbdyno.model.machine import Machine
from dbdyno.model.target import Secret, Target

_WORDS = ("rocksdb", "myrocks")
"""How a URL calls it behind the server's name; the first is the server's own word."""
_PLUGIN = "ha_rocksdb.so"
_LINES = (
    "plugin-load-add = ha_rocksdb",
    "plugin-maturity = unknown",
    "default-storage-engine = rocksdb",
    "# It cannot be replicated by statements; without a binary log this means nothing.",
    "binlog-format = ROW",
)


class MyRocks(FamilyEngine):
    name = "myrocks"
    folder = Path(__file__).parent

    def __init__(self, *products: str) -> None:
        self.schemes: tuple[str, ...] = tuple(f"{product}+{word}" for product in products for word in _WORDS)
        self._products = products

    def connect(self, target: Target, secret: Secret) -> Session:
        from dbdyno.engines.myrocks.session import MyRocksSession

        return MyRocksSession(target, secret)

    def advice(self, machine: Machine, version: int) -> list[Advice]:
        from dbdyno.engines.myrocks import formulas

        return formulas.advice(machine, version)

    def render(self, assignment: Assignment) -> tuple[str, list[str]]:
        from dbdyno.engines.myrocks import families

        return super().render(families.joined(assignment))

    def recipe(self) -> Recipe:
        from dbdyno.engines._mysql.server import MySQLRecipe
        from dbdyno.engines.myrocks import families

        schemes = {product: f"{product}+{_WORDS[0]}" for product in self._products}
        return MySQLRecipe(schemes, plugin=_PLUGIN, lines=_LINES, written=families.joined)


ENGINE = MyRocks("mariadb", "mysql")
VARIANTS = (MyRocks("mariadb"), MyRocks("mysql"))
