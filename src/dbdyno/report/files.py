"""Writes a page whole or not at all."""

from __future__ import annotations

from pathlib import Path

from dbdyno.model.errors import RecordError


def write_page(out: Path, text: str) -> Path:
    """Raises `RecordError` when it cannot be written."""
    part = out.with_name(out.name + ".part")
    try:
        part.write_text(text, encoding="utf-8", newline="\n")
        part.replace(out)
    except OSError as error:
        raise RecordError(
            f"The report cannot be written to {out}.",
            found=error.strerror or str(error),
            todo="choose another place with -o",
        ) from None
    return out
