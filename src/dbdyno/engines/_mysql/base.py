"""What the family's engines have alike as engines. Each adds its session, its formulas and its recipe."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from dbdyno.model.knob import Assignment, KnobSpace
from dbdyno.model.machine import Machine
from dbdyno.model.probe import Probe
from dbdyno.model.target import Secret, Target

_SHARED = Path(__file__).parent


class FamilyEngine:
    """The part of `dbdyno.model.engine.Engine` that is read from files: the engine's own and the family's."""

    name: str
    dialect = "mysql"
    folder: Path
    """Where the engine's own files are."""

    def target(self, url: str, environment: Mapping[str, str]) -> tuple[Target, Secret]:
        from dbdyno.engines._mysql import target

        return target.parse(url, environment, engine=self.name)

    def probes(self, version: int) -> list[Probe]:
        from dbdyno.engines.probefile import load_probes

        return load_probes(self.folder / "probes", version, _SHARED / "probes")

    def knobs(self, machine: Machine, version: int) -> KnobSpace:
        from dbdyno.engines.knobfile import load_knobs

        return load_knobs(self.folder / "knobs.toml", machine, version, _SHARED / "knobs.toml")

    def render(self, assignment: Assignment) -> tuple[str, list[str]]:
        from dbdyno.engines._mysql import units

        return units.render(assignment, self.folder / "knobs.toml", _SHARED / "knobs.toml")
