"""Citations: articles by their key in sources.toml, manuals as they are."""

from __future__ import annotations

import functools
import tomllib
from pathlib import Path


@functools.cache
def _articles() -> dict[str, str]:
    path = Path(__file__).parent.parent / "sources.toml"
    articles: dict[str, str] = tomllib.loads(path.read_text())["articles"]
    return articles


def cite(*names: str) -> str:
    """Titles of articles that are known by a key, and whatever else is given, separated by semicolons."""
    return "; ".join(_articles().get(name, name) for name in names)
