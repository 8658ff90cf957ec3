"""Finds runs and studies by what a person types: a folder, a name, the beginning of a name, `last`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dbdyno.model.errors import RecordError
from dbdyno.model.home import Home
from dbdyno.run.record import PLAN

LAST = "last"
_STUDY = "study.json"


@dataclass(frozen=True)
class Entry:
    """A folder of dyno's home."""

    kind: str
    """`run` or `study`."""
    path: Path
    changed_unix_s: float

    @property
    def name(self) -> str:
        return self.path.name


def entries(home: Home) -> list[Entry]:
    """All runs and studies of the home folder, newest first (by when their plan was written)."""
    found = []
    for kind, folder, file in (("run", home.runs, PLAN), ("study", home.studies, _STUDY)):
        if folder.is_dir():
            for path in folder.iterdir():
                if (path / file).is_file():
                    found.append(Entry(kind, path, (path / file).stat().st_mtime))
    return sorted(found, key=lambda entry: (-entry.changed_unix_s, entry.name))


def find_run(home: Home, text: str) -> Path:
    """The run folder that `text` means. Raises `RecordError` when there is none, or several begin so."""
    path = Path(text)
    if (path / PLAN).is_file():
        return path
    runs = [entry for entry in entries(home) if entry.kind == "run"]
    if text == LAST and runs:
        return runs[0].path
    exact = [entry for entry in runs if entry.name == text]
    found = exact or [entry for entry in runs if entry.name.startswith(text)]
    if len(found) == 1:
        return found[0].path
    if found:
        raise RecordError(
            f"{text!r} is the beginning of {len(found)} runs.",
            found=", ".join(entry.name for entry in found[:5]) + (", …" if len(found) > 5 else ""),
            todo="give more of the name",
        )
    if path.is_dir():
        raise RecordError(f"{path} is not a run folder.", found=f"it has no {PLAN}", todo="see `dyno list`")
    raise RecordError(f"There is no run {text!r}.", found=f"looked in {home.runs}", todo="see `dyno list`")
