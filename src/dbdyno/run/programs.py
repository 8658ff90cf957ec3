"""Where the programs of the data plane are: each is one binary, built from `driver/`."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import dbdyno
from dbdyno.model.errors import HostError


def find_program(binary: str, variable: str, what: str, environment: Mapping[str, str] | None = None) -> Path:
    """The program: what `variable` names, the package's own, one on PATH, the checkout's.

    `what` is what it does, for the message. Raises `HostError`.
    """
    environment = os.environ if environment is None else environment
    if chosen := environment.get(variable):
        if _executable(Path(chosen)):
            return Path(chosen)
        raise HostError(f"{variable} names no program.", found=chosen, todo=f"let it name the {binary} binary")
    package = Path(dbdyno.__file__).parent
    places = [package / "_bin" / binary]
    if on_path := shutil.which(binary, path=environment.get("PATH")):
        places.append(Path(on_path))
    targets = [Path(environment["CARGO_TARGET_DIR"])] if environment.get("CARGO_TARGET_DIR") else []
    places += [folder / "release" / binary for folder in [*targets, package.parents[1] / "target"]]
    for place in places:
        if _executable(place):
            return place
    raise HostError(
        f"{what} is not there.",
        found="looked at " + ", ".join(map(str, places)),
        todo=f"build it with `cargo build --release`, or name it in {variable}",
    )


def _executable(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)
