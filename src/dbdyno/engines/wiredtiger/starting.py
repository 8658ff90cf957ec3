"""Versions of MongoDB as people write them; the formula is a whole configuration already."""

from __future__ import annotations

import re
from collections.abc import Mapping

from dbdyno.engines.wiredtiger import conffile
from dbdyno.engines.wiredtiger.documents import version_number
from dbdyno.model.errors import UsageError
from dbdyno.model.knob import Assignment

VERSION_DEFAULT = "8.0"


def version_of(words: str, product: str) -> tuple[int, str]:
    """`7.0`, `7.0.12` as this engine counts, and in words. Raises `UsageError`."""
    if not re.fullmatch(r"\d\.\d{1,2}(\.\d{1,3})?", words):
        raise UsageError(f"{words!r} is no version of {product}.", todo="write it like 7.0 or 7.0.12")
    return version_number(words), f"MongoDB {words}"


def lines_of(assignment: Assignment, reasons: Mapping[str, str]) -> list[str]:
    """One document of YAML, each option below its reason."""
    lines = []
    path: list[tuple[int, str]] = []
    for line in conffile.fragment({name: str(value) for name, value in assignment.items()}).splitlines():
        indent = len(line) - len(line.lstrip())
        key, _, value = line.strip().partition(":")
        path = [*(one for one in path if one[0] < indent), (indent, key)]
        if not indent:
            lines.append("")
        if value:
            lines.append(" " * indent + "# " + reasons[".".join(part for _, part in path)])
        lines.append(line)
    return lines
