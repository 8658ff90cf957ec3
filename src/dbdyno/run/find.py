"""Finds runs and studies by what a person types: a folder, a name, the beginning of a name, `last`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dbdyno.model.errors import RecordError
from dbdyno.model.home import Home
from dbdyno.run.record import PLAN

LAST = "last"
_PLANS = {"run": PLAN, "study": "study.json", "proof": "proof.json"}


@dataclass(frozen=True)
class Entry:
    """A folder of dyno's home."""

    kind: str
    """`run`, `study` or `proof` (of power loss)."""
    path: Path
    changed_unix_s: float

    @property
    def name(self) -> str:
        return self.path.name


def entries(home: Home) -> list[Entry]:
    """All runs, studies and proofs of the home folder, newest first (by when their plan was written)."""
    found = []
    for kind, folder in (("run", home.runs), ("study", home.studies), ("proof", home.crashes)):
        if folder.is_dir():
            for path in folder.iterdir():
                plan = path / _PLANS[kind]
                if plan.is_file():
                    found.append(Entry(kind, path, plan.stat().st_mtime))
    return sorted(found, key=lambda entry: (-entry.changed_unix_s, entry.name))


def find_run(home: Home, text: str) -> Path:
    """The run folder that `text` means. Raises `RecordError` when there is none, or several begin so."""
    return find_entry(home, text, ("run",))


def find_entry(home: Home, text: str, kinds: tuple[str, ...] = ("run", "study", "proof")) -> Path:
    """The folder that `text` means. Raises `RecordError` when there is none, or several begin so."""
    what, path = " or ".join(kinds), Path(text)
    below = {"run": home.runs / text, "study": home.studies / text, "proof": home.crashes / text}
    for place, kind in [*((path, kind) for kind in kinds), *((below[kind], kind) for kind in kinds)]:
        if (place / _PLANS[kind]).is_file():
            return place
    known = [entry for entry in entries(home) if entry.kind in kinds]
    if text == LAST and known:
        return known[0].path
    found = [entry for entry in known if entry.name.startswith(text)]
    if len(found) == 1:
        return found[0].path
    if found:
        raise RecordError(
            f"{text!r} is the beginning of {len(found)} names.",
            found=", ".join(entry.name for entry in found[:5]) + (", …" if len(found) > 5 else ""),
            todo="give more of the name",
        )
    if path.is_dir():
        needed = " or ".join(_PLANS[kind] for kind in kinds)
        raise RecordError(f"{path} is not a {what} folder.", found=f"it has no {needed}", todo="see `dyno list`")
    raise RecordError(f"There is no {what} {text!r}.", found=f"looked in {home.root}", todo="see `dyno list`")
