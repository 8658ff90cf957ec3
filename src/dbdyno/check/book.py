"""The rule book: every rule that there is, with the manual page that its docstring holds.

Rules lie in `engines/<engine>/rules/*.py`, `hosts/rules/*.py`, in the user's `$XDG_CONFIG_HOME/dyno/rules/*.py`, and
behind entry points of the group `dbdyno.rules`. A file whose name begins with an underscore is shared code, not a rule.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import dbdyno
from dbdyno.model.errors import UsageError
from dbdyno.model.rule import Rule

SECTIONS = ("What it checks", "Why it matters", "Remedy", "Risk", "References")
HOST = "hosts"
_ID = re.compile(r"[A-Z]{2,10}[0-9]{3}")
_HERE = Path(dbdyno.__file__).parent


@dataclass(frozen=True)
class Entry:
    """One rule and where it comes from."""

    rule: Rule
    sections: Mapping[str, str]
    """Text of the docstring by the name of its section, on one line each."""
    origin: str
    """Folder of the package (`hosts`, an engine's name), `site`, or `plugin`."""


def host_rules() -> list[Entry]:
    """Rules about machines."""
    return _of_folder(_HERE / "hosts" / "rules", "dbdyno.hosts.rules", HOST)


def engine_rules(engine: str) -> list[Entry]:
    """Rules of an engine's folder, and of those whose rules it says hold for it too (`RULES_ALSO` in its facts)."""
    names = [engine]
    if (facts := engine_module(engine, "facts")) is not None:
        names += getattr(facts, "RULES_ALSO", ())
    return [
        entry
        for name in names
        for entry in _of_folder(_HERE / "engines" / name / "rules", f"dbdyno.engines.{name}.rules", name)
    ]


def engine_module(engine: str, name: str) -> ModuleType | None:
    """An optional module of an engine's folder; None when it is not there."""
    if not (_HERE / "engines" / engine / f"{name}.py").is_file():
        return None
    return importlib.import_module(f"dbdyno.engines.{engine}.{name}")


def engines_with(name: str) -> list[str]:
    """Names of the engines whose folder holds something of that name."""
    return sorted(path.parent.name for path in (_HERE / "engines").glob(f"*/{name}"))


def site_rules(config: Path, engine: str | None) -> list[Entry]:
    """The user's own rules, and plug-ins. A file may say `ENGINE = "…"` to hold for one engine only.

    Raises `UsageError` for a file that is not a rule.
    """
    entries = []
    for path in sorted((config / "rules").glob("[!_]*.py")):
        module = _load_site(path)
        if getattr(module, "ENGINE", engine) == engine:
            entries.append(_entry(module, "site", path.stem, str(path)))
    for plugin in importlib.metadata.entry_points(group="dbdyno.rules"):
        try:
            module = importlib.import_module(plugin.module)
        except Exception as error:
            raise _unusable(plugin.value, f"{type(error).__name__}: {error}") from error
        if getattr(module, "ENGINE", engine) == engine:
            entries.append(_entry(module, "plugin", module.__name__.rpartition(".")[2], plugin.value))
    return entries


def unique(entries: Iterable[Entry]) -> list[Entry]:
    """The same entries in the order of their ids. Raises `UsageError` when two have the same id."""
    by_id: dict[str, Entry] = {}
    for entry in entries:
        other = by_id.setdefault(entry.rule.id, entry)
        if other is not entry:
            raise UsageError(
                f"Two rules are called {entry.rule.id}.",
                found=f"one of {other.origin}, one of {entry.origin}",
                todo="give yours another id (and file name)",
            )
    return [by_id[name] for name in sorted(by_id)]


def sections_of(docstring: str) -> dict[str, str]:
    """The parts of a rule's docstring by heading; paragraphs are joined to one line each."""
    found: dict[str, list[str]] = {}
    current: list[str] = []
    for raw in docstring.splitlines():
        line = raw.strip()
        heading, colon, rest = line.partition(":")
        if colon and heading in SECTIONS:
            current = found.setdefault(heading, [])
            line = rest.strip()
        current.append(line)
    return {name: re.sub(r"\s+", " ", " ".join(lines)).strip() for name, lines in found.items()}


def _of_folder(folder: Path, package: str, origin: str) -> list[Entry]:
    return [
        _entry(importlib.import_module(f"{package}.{path.stem}"), origin, path.stem, str(path))
        for path in sorted(folder.glob("[!_]*.py"))
    ]


def _load_site(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"dyno_site_rule_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise _unusable(str(path), "not a Python file")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # whatever a stranger's file may raise
        raise _unusable(str(path), f"{type(error).__name__}: {error}") from error
    return module


def _entry(module: ModuleType, origin: str, stem: str, where: str) -> Entry:
    rule = getattr(module, "RULE", None)
    docstring = module.__doc__ or ""
    problems = list(_problems(rule, docstring, stem))
    if problems or not isinstance(rule, Rule):
        raise _unusable(where, "; ".join(problems))
    return Entry(rule=rule, sections=sections_of(docstring), origin=origin)


def _problems(rule: object, docstring: str, stem: str) -> Iterator[str]:
    if not isinstance(rule, Rule):
        yield "there is no `RULE = Rule(…)`"
        return
    if not _ID.fullmatch(rule.id):
        yield f"the id {rule.id!r} is not of the form ABC123"
    if rule.id.lower() != stem:
        yield f"the file should be called {rule.id.lower()}.py"
    if not docstring.startswith(f"{rule.id}: "):
        yield f"the docstring does not begin with '{rule.id}: '"
    sections = sections_of(docstring)
    if missing := [name for name in SECTIONS if not sections.get(name)]:
        yield "the docstring lacks " + ", ".join(missing)


def _unusable(where: str, found: str) -> UsageError:
    return UsageError(
        f"The rule {where} cannot be used.",
        found=found,
        todo="see docs/reference/check.md, «A rule of your own»",
    )
