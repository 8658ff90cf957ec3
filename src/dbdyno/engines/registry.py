"""Finds the engines: every subpackage here with an `engine.py`, and entry points of the group `dbdyno.engines`.

Subpackages whose name begins with an underscore are what several engines share. A module may offer `VARIANTS` beside
its `ENGINE`: the same engine narrowed to one of several products, each with the URL schemes of that product first.

Some engines can only be checked (`Checkable`); who wants to load, tune or start one is told so here.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import importlib.metadata
import pkgutil
from collections.abc import Mapping
from pathlib import Path

import dbdyno.engines
from dbdyno.model.engine import Checkable, Engine
from dbdyno.model.errors import UsageError


@functools.cache
def engines() -> dict[str, Engine]:
    """All engines that can be loaded and run, by name."""
    return {name: engine for name, engine in checkables().items() if isinstance(engine, Engine)}


@functools.cache
def checkables() -> dict[str, Checkable]:
    """All engines that can at least be checked, by name."""
    return {name: engine for name, (engine, _variants) in _found().items()}


@functools.cache
def _found() -> dict[str, tuple[Checkable, tuple[Checkable, ...]]]:
    found: dict[str, tuple[Checkable, tuple[Checkable, ...]]] = {}
    for package in pkgutil.iter_modules(dbdyno.engines.__path__):
        if package.ispkg and not package.name.startswith("_") and _has_engine(package.name):
            module = importlib.import_module(f"dbdyno.engines.{package.name}.engine")
            found[module.ENGINE.name] = (module.ENGINE, tuple(getattr(module, "VARIANTS", ())))
    for entry in importlib.metadata.entry_points(group="dbdyno.engines"):
        engine = entry.load()
        found[engine.name] = (engine, ())
    return found


def _has_engine(package: str) -> bool:
    return any((Path(folder) / package / "engine.py").is_file() for folder in dbdyno.engines.__path__)


def products(*, whole: bool) -> list[str]:
    """The first URL scheme of each product; `whole`: only of those that can be loaded and run."""
    return [
        one.schemes[0]
        for engine, variants in _found().values()
        if isinstance(engine, Engine) or not whole
        for one in (variants or (engine,))
    ]


def engine_named(name: str) -> Engine:
    """The engine of that name or URL scheme; of a scheme that means one product of several, narrowed to that product.
    Raises `UsageError` that lists what there is, or says that it can only be checked."""
    return whole(_named(name, engines()))


def checkable_named(name: str) -> Checkable:
    """The same, for a check."""
    return _named(name, checkables())


def _named(name: str, suggested: Mapping[str, Checkable]) -> Checkable:
    found = _found()
    if name in found:
        return found[name][0]
    for engine, variants in found.values():
        for one in (*variants, engine):
            if name in one.schemes:
                return one
    words = sorted({word for engine in suggested.values() for word in (engine.name, *engine.schemes)})
    near = difflib.get_close_matches(name, words, n=1)
    hint = f"did you mean {near[0]}?" if near else ""
    raise UsageError(f"There is no engine {name!r}.", found=hint, todo="use one of: " + ", ".join(words))


def whole(engine: Checkable) -> Engine:
    """The same engine when it can be loaded and run. Raises `UsageError` when it can only be checked."""
    if isinstance(engine, Engine):
        return engine
    raise UsageError(
        f"A server of the kind {engine.name} can only be checked: there is no load, no tuning, no record and no "
        "sandbox for it.",
        todo="dyno check and dyno collect take it; the others take: " + ", ".join(sorted(engines())),
    )
