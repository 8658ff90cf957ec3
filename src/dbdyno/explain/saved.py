"""Explains saved texts: what a server said of its state, or what the machine's tools printed.

Who knows a kind of text is found by being there: `saved.py` in an engine's folder, and in `hosts/`, with
`recognises(text)` and `recording(texts)`.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, cast

from dbdyno.explain.explain import Explanation, explain
from dbdyno.explain.registry import engine_folders
from dbdyno.model.errors import UsageError
from dbdyno.model.recording import Recording

TEXT_BYTES_MAX = 256 << 20


class Reader(Protocol):
    """A module that knows a kind of saved text."""

    def recognises(self, text: str) -> bool: ...
    def recording(self, texts: Sequence[str]) -> Recording: ...


def explain_saved(paths: Sequence[Path]) -> Explanation:
    """Explains saved texts of one kind, in order of time. Raises `UsageError` when nobody knows one of them."""
    texts = [_text(path) for path in paths]
    kinds = {_reader_of(path, text) for path, text in zip(paths, texts, strict=True)}
    if len(kinds) > 1:
        raise UsageError(
            "The saved texts are of different kinds.",
            found=", ".join(sorted(name or "machine" for name in kinds)),
            todo="explain each kind by itself",
        )
    engine = kinds.pop()
    recording = _readers()[engine].recording(texts)
    name = paths[0].name if len(paths) == 1 else f"{len(paths)} saved texts"
    return explain(recording, name=name, engine=engine)


def _readers() -> dict[str, Reader]:
    """By engine; the machine's has the empty name."""
    places = {"": "dbdyno.hosts.saved"} | {name: f"dbdyno.engines.{name}.saved" for name in engine_folders()}
    return {
        name: cast(Reader, importlib.import_module(place))
        for name, place in places.items()
        if importlib.util.find_spec(place) is not None
    }


def _reader_of(path: Path, text: str) -> str:
    for name, reader in _readers().items():
        if reader.recognises(text):
            return name
    raise UsageError(
        f"{path}: nobody knows this kind of text.",
        found=repr(text.strip()[:60]),
        todo="give what a server says of its state, `vmstat -t`, or `iostat -xt`, saved as it was printed",
    )


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > TEXT_BYTES_MAX:
            raise UsageError(
                f"{path} is too large.", found=f"{path.stat().st_size >> 20} MiB", todo="give a part of it"
            )
        return path.read_bytes().decode("utf-8", "replace")
    except OSError as error:
        raise UsageError(f"{path} cannot be read.", found=error.strerror or str(error)) from None
