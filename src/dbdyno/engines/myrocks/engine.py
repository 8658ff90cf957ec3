"""MyRocks as an engine: everything else asks this object."""

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
_SHARED = Path(_mysql.__file__).parent


class MyRocks:
    name = "myrocks"
    dialect = "mysql"

    def __init__(self, *products: str) -> None:
        self.schemes: tuple[str, ...] = tuple(f"{product}+{word}" for product in products for word in _WORDS)
        self._products = products

    def target(self, url: str, environment: Mapping[str, str]) -> tuple[Target, Secret]:
        from dbdyno.engines._mysql import target

        return target.parse(url, environment, engine=self.name)

    def connect(self, target: Target, secret: Secret) -> Session:
        from dbdyno.engines.myrocks.session import MyRocksSession

        return MyRocksSession(target, secret)

    def probes(self, version: int) -> list[Probe]:
        from dbdyno.engines.probefile import load_probes

        return load_probes(_HERE / "probes", version, _SHARED / "probes")

    def knobs(self, machine: Machine, version: int) -> KnobSpace:
        from dbdyno.engines.knobfile import load_knobs

        return load_knobs(_HERE / "knobs.toml", machine, version, _SHARED / "knobs.toml")

    def advice(self, machine: Machine, version: int) -> list[Advice]:
        from dbdyno.engines.myrocks import formulas

        return formulas.advice(machine, version)

    def render(self, assignment: Assignment) -> tuple[str, list[str]]:
        from dbdyno.engines._mysql import units
        from dbdyno.engines.myrocks import families

        return units.render(families.joined(assignment), _HERE / "knobs.toml", _SHARED / "knobs.toml")

    def recipe(self) -> Recipe:
        from dbdyno.engines._mysql.server import MySQLRecipe
        from dbdyno.engines.myrocks import families

        schemes = {product: f"{product}+{_WORDS[0]}" for product in self._products}
        return MySQLRecipe(schemes, plugin=_PLUGIN, lines=_LINES, written=families.joined)


ENGINE = MyRocks("mariadb", "mysql")
VARIANTS = (MyRocks("mariadb"), MyRocks("mysql"))
