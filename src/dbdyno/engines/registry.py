"""Finds the engines: every subpackage here with an `engine.py`, and entry points of the group `dbdyno.engines`."""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import pkgutil

import dbdyno.engines
from dbdyno.model.engine import Engine
from dbdyno.model.errors import UsageError


@functools.cache
def engines() -> dict[str, Engine]:
    """All engines by name."""
    found: dict[str, Engine] = {}
    for module in pkgutil.iter_modules(dbdyno.engines.__path__):
        if module.ispkg:
            engine: Engine = importlib.import_module(f"dbdyno.engines.{module.name}.engine").ENGINE
            found[engine.name] = engine
    for entry in importlib.metadata.entry_points(group="dbdyno.engines"):
        engine = entry.load()
        found[engine.name] = engine
    return found


def engine_named(name: str) -> Engine:
    """The engine of that name or URL scheme. Raises `UsageError` that lists what there is."""
    for engine in engines().values():
        if name == engine.name or name in engine.schemes:
            return engine
    raise UsageError(
        f"There is no engine {name!r}.",
        todo="use one of: " + ", ".join(sorted(engines())),
    )
