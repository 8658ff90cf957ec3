"""Finds the diagnoses: those of the machine, and those of every engine that has a folder `diagnoses`. No list."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import pkgutil

import dbdyno.engines
import dbdyno.hosts.diagnoses
from dbdyno.model.diagnosis import Diagnosis, find_diagnoses


@functools.cache
def diagnoses(engine: str | None = None) -> tuple[Diagnosis, ...]:
    """All that apply to a record of that engine (None: of every engine there is; empty: of none), by id."""
    found = find_diagnoses(dbdyno.hosts.diagnoses)
    for name in engine_folders():
        if engine in (None, name) and importlib.util.find_spec(f"dbdyno.engines.{name}.diagnoses"):
            found += find_diagnoses(importlib.import_module(f"dbdyno.engines.{name}.diagnoses"))
    # Engines of one family may take up the same one.
    return tuple(sorted(dict.fromkeys(found), key=lambda one: one.id))


def engine_folders() -> list[str]:
    return [info.name for info in pkgutil.iter_modules(dbdyno.engines.__path__) if info.ispkg and info.name[0] != "_"]
