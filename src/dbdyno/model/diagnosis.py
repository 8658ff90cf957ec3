"""A diagnosis: a pure function from a record (and one of its stalls) to at most one finding, complete in its own file.

The file is the diagnosis' manual page, its check and its test data. It lies in `diagnoses/` of the folder that it is
about (an engine's, or `hosts/`), defines `DIAGNOSIS`, and is found by being there. Its docstring holds: a first line
"ID: title", then paragraphs that begin "What is seen", "Why it happens", "Remedy", "Cost", "Rivals" and "References".
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType

from dbdyno.model.finding import Finding
from dbdyno.model.recording import Recording, Stall


@dataclass(frozen=True)
class Diagnosis:
    """`check` is called once for every stall, and once with None for what needs no stall to be seen. It returns None
    when its cause is not at work there. What the record lacks raises `MissingFact` or `MissingSeries` inside the
    accessors: then the verdict is unknown. Whoever runs it fills in `rule`, `title`, `source` and the stall's times."""

    id: str
    """Lower-case words with hyphens that name the cause: `checkpoints-forced-by-log`."""
    title: str
    check: Callable[[Recording, Stall | None], Finding | None]
    source: str
    """Article or manual with its date, as it stands in the finding."""
    bad: Callable[[], Recording]
    """Example in which the cause is at work."""
    good: Callable[[], Recording]
    """Example in which it is not, though as much of the rest as possible is the same: a stall of another cause."""
    symptom: bool = False
    """True when it names what was exhausted (a device, a processor) and not who exhausted it: it stands behind causes
    of the same stall."""


def find_diagnoses(package: ModuleType) -> list[Diagnosis]:
    """The diagnoses in a package of one file each, by id; files that begin with `_` are helpers."""
    found: list[Diagnosis] = []
    for info in pkgutil.iter_modules(package.__path__):
        if not info.name.startswith("_"):
            found.append(importlib.import_module(f"{package.__name__}.{info.name}").DIAGNOSIS)
    return sorted(found, key=lambda one: one.id)
