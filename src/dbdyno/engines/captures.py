"""Captures: questions that are too heavy for every second and are asked once when an incident begins.

They are probe files (docs/reference/probes.md) in `captures/` of an engine's folder, found by being there.
"""

from __future__ import annotations

import sys
from pathlib import Path

from dbdyno.engines.probefile import load_probes
from dbdyno.model.engine import Engine
from dbdyno.model.probe import Probe


def captures(engine: Engine, version: int) -> list[Probe]:
    """The captures of an engine for a server of that version; none when its folder has none."""
    module = sys.modules[type(engine).__module__]
    folders = [Path(module.__file__).parent / "captures"] if module.__file__ else []
    return [probe for folder in folders if folder.is_dir() for probe in load_probes(folder, version)]
