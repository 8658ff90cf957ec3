"""Words of strangers for a terminal: control characters become visible codes, so that none can steer it."""

from __future__ import annotations

import unicodedata

THIN = "\u202f"
"""The thin space of our own figures."""


def safe(text: str) -> str:
    """Control characters other than newline become visible codes."""
    return "".join(
        one if one in ("\n", THIN) or not unicodedata.category(one).startswith("C") else f"\\x{ord(one):02x}"
        for one in text
    )


def safe_json(text: str) -> str:
    """JSON as ASCII-safe as a terminal needs it: what would steer it becomes `\\u…`, which reads back as the same. Such
    characters stand in texts only."""
    return "".join(
        one if one == "\n" or ord(one) < 0x7F or not unicodedata.category(one).startswith("C") else _escaped(one)
        for one in text
    )


def _escaped(one: str) -> str:
    units = one.encode("utf-16-be", errors="surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
