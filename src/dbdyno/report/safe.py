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
