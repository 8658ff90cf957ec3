"""Names of the engines' own tools that work beside a server: `jobs.toml` of each folder here, found by being there."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from pathlib import Path


@functools.cache
def known_jobs() -> Mapping[str, str]:
    """Kind by name, of all engines: a machine may have several servers."""
    found: dict[str, str] = {}
    for file in sorted(Path(__file__).parent.glob("*/jobs.toml")):
        for kind, names in tomllib.loads(file.read_text()).items():
            found |= dict.fromkeys(names, kind)
    return found
