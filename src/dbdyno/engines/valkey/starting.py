"""Versions of Valkey and Redis as people write them; the formula is a whole configuration already."""

from __future__ import annotations

import re

from dbdyno.engines.valkey import versions
from dbdyno.model.errors import UsageError

VERSION_DEFAULT = {"valkey": "8.1", "redis": "7.2"}
_NAMES = {"valkey": "Valkey", "redis": "Redis"}


def version_of(words: str, product: str) -> tuple[int, str]:
    """`7.0`, `8.1.4` as this engine counts, and in words. Raises `UsageError`."""
    if not re.fullmatch(r"\d\.\d{1,2}(\.\d{1,3})?", words):
        raise UsageError(f"{words!r} is no version of {_NAMES[product]}.", todo="write it like 7.0 or 7.0.15")
    return versions.number_of(words, valkey=product == "valkey"), f"{_NAMES[product]} {words}"
