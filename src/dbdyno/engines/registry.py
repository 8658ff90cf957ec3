"""Finds the engines: every subpackage here with an `engine.py`, and entry points of the group `dbdyno.engines`.

Subpackages whose name begins with an underscore are what several engines share. A module may offer `VARIANTS` beside
its `ENGINE`: the same engine narrowed to one of several products, each with the URL schemes of that product first.
"""

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
    return {name: engine for name, (engine, _variants) in _found().items()}


@functools.cache
def _found() -> dict[str, tuple[Engine, tuple[Engine, ...]]]:
    found: dict[str, tuple[Engine, tuple[Engine, ...]]] = {}
    for package in pkgutil.iter_modules(dbdyno.engines.__path__):
        if package.ispkg and not package.name.startswith("_"):
            module = importlib.import_module(f"dbdyno.engines.{package.name}.engine")
            found[module.ENGINE.name] = (module.ENGINE, tuple(getattr(module, "VARIANTS", ())))
    for entry in importlib.metadata.entry_points(group="dbdyno.engines"):
        engine = entry.load()
        found[engine.name] = (engine, ())
    return found


def engine_named(name: str) -> Engine:
    """The engine of that name or URL scheme; of a scheme that means one product of several, narrowed to that product.
    Raises `UsageError` that lists what there is."""
    found = _found()
    if name in found:
        return found[name][0]
    for engine, variants in found.values():
        for one in (*variants, engine):
            if name in one.schemes:
                return one
    words = sorted({word for engine in engines().values() for word in (engine.name, *engine.schemes)})
    raise UsageError(f"There is no engine {name!r}.", todo="use one of: " + ", ".join(words))
