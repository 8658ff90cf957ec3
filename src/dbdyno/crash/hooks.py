"""What an engine's folder brings for the proof, found by being there: `integrity.py` and `controls.toml`.

`integrity.py` holds a class `Integrity` without arguments that follows the protocol below; `controls.toml` the negative
controls:

    [[control]]
    name = "short-name"
    level = "L1"                 # what it reaches at most
    settings = { name = "value" }
    says = "what it gives up"
    source = "manual or article, year"
    needs_tearing = false        # true: shows only where a page is torn
    fault = ""                   # the fault of the disk that it takes to show: "eio_on_data"
    version_min = 0
    version_max = 999999999
"""

from __future__ import annotations

import importlib
import importlib.util
import pwd
import subprocess
import tomllib
from pathlib import Path
from typing import Any, Protocol

from dbdyno.model.crash import Control, Logged
from dbdyno.model.errors import HostError, UsageError
from dbdyno.model.knob import Level
from dbdyno.model.target import Secret, Target

EATMYDATA = "libeatmydata.so"
TOOL_TIMEOUT_S = 120


class Integrity(Protocol):
    """An engine's own checks of its files. Methods of one that finds nothing return an empty list."""

    def prepare(self, target: Target, secret: Secret) -> str:
        """Makes the checks possible, before the load (an extension is created …). Returns why they are not, or an
        empty text."""
        ...

    def stir(self, target: Target, secret: Secret) -> None:
        """Has the server write its data pages, or go on with it; asked again and again during the load, so that a loss
        of power finds them in flight. Must return soon. Raises `TargetError`."""
        ...

    def damages(self, target: Target, secret: Secret) -> list[str]:
        """What the running server finds in its own tables and indexes, in words. Raises `TargetError` when it cannot
        be asked."""
        ...

    def logged(self, target: Target, secret: Secret, table: str) -> Logged | None:
        """What the log that replicas and a recovery to a moment read says was inserted into a table; None where there
        is none, or it is the one that the server itself recovers from. Raises `TargetError`."""
        ...

    def file_checks(self, data: Path, programs: Path) -> list[list[str]]:
        """Commands that check the files of a server that was stopped in order, and fail when something is wrong with
        them. `programs` is the folder of the server's binaries. Empty where there is no such tool."""
        ...

    def role_of(self, path: str) -> str:
        """What a file of the data folder (relative path) is for: `log`, `data`, `doublewrite`, `header`, `other`."""
        ...


class NoIntegrity:
    """For engines without checks of their own."""

    def prepare(self, target: Target, secret: Secret) -> str:
        return f"dyno knows no checks of {target.engine}'s own"

    def stir(self, target: Target, secret: Secret) -> None:
        """What is written when is left to the server."""

    def damages(self, target: Target, secret: Secret) -> list[str]:
        return []

    def logged(self, target: Target, secret: Secret, table: str) -> Logged | None:
        return None

    def file_checks(self, data: Path, programs: Path) -> list[list[str]]:
        return []

    def role_of(self, path: str) -> str:
        return "other"


def file_damage(command: list[str], run_as: str | None) -> str:
    """What an engine's tool, run as the owner of the files, says is wrong with them; empty: nothing. Raises `HostError`
    when it cannot be run or does not end."""
    try:
        done = subprocess.run(
            command,
            user=run_as,
            group=pwd.getpwnam(run_as).pw_gid if run_as else None,
            extra_groups=[] if run_as else None,
            cwd="/",
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"},
            capture_output=True,
            text=True,
            errors="replace",
            timeout=TOOL_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise HostError(f"{Path(command[0]).name} could not be run.", found=str(error)) from None
    if done.returncode == 0:
        return ""
    words = (done.stderr.strip() or done.stdout.strip()).splitlines()
    return f"{Path(command[0]).name}: {'; '.join(words[-3:]) or f'exit status {done.returncode}'}"


def integrity_of(engine: str) -> Integrity:
    """The engine's own checks, or none."""
    name = f"dbdyno.engines.{engine}.integrity"
    if importlib.util.find_spec(name) is None:
        return NoIntegrity()
    found: Integrity = importlib.import_module(name).Integrity()
    return found


def controls_of(engine: str, version: int, fault: str = "") -> tuple[Control, ...]:
    """The engine's negative controls, and the one that every engine has: `fsync` that does nothing. With a fault of the
    disk (`eio_on_fsync=2`) those that the fault shows, and for every engine a server that does not hear of it."""
    folder = Path(str(importlib.import_module(f"dbdyno.engines.{engine}").__file__)).parent
    file = folder / "controls.toml"
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    name = fault.partition("=")[0]
    own = tuple(control for control in parse_controls(text, version) if control.fault == name)
    return (*own, *(unheard_controls(name) if name else no_sync_controls()))


def parse_controls(text: str, version: int) -> tuple[Control, ...]:
    """Those that this version has."""
    return tuple(
        _control(entry)
        for entry in tomllib.loads(text).get("control", [])
        if entry.get("version_min", 0) <= version <= entry.get("version_max", version)
    )


def _control(entry: dict[str, Any]) -> Control:
    return Control(
        name=entry["name"],
        settings=entry["settings"],
        level=Level[entry["level"]],
        says=entry["says"],
        source=entry.get("source", ""),
        needs_tearing=entry.get("needs_tearing", False),
        fault=entry.get("fault", ""),
    )


def unheard_controls(fault: str) -> tuple[Control, ...]:
    """A control of the proof with a disk that fails: a server that takes every error for a success."""
    says = "the server is not told that the disk failed, and goes on"
    source = "Rebello and others, Can Applications Recover from fsync Failures?, 2020"
    return (Control(name="unheard", level=Level.L1, says=says, source=source, fault=fault, unheard=True),)


def no_sync_controls(libraries: Path = Path("/usr/lib")) -> tuple[Control, ...]:
    """A control of the disk itself, where the library is installed."""
    found = next(iter(sorted(libraries.glob(f"*/{EATMYDATA}"))), None)
    if found is None:
        return ()
    says = "no fsync of the server reaches the disk, whatever its settings say"
    return (Control(name="eatmydata", preload=str(found), level=Level.L1, says=says, source="eatmydata(1)"),)


def choose_controls(known: tuple[Control, ...], names: tuple[str, ...]) -> tuple[Control, ...]:
    """Those of these names, all when there are none. Raises `UsageError` for a name that is not one."""
    table = {control.name: control for control in known}
    if unknown := [name for name in names if name not in table]:
        raise UsageError(
            "There is no negative control " + ", ".join(unknown) + ".", todo="use some of: " + ", ".join(table)
        )
    return tuple(table[name] for name in names) if names else known


def preloaded(command: list[str], library: str) -> list[str]:
    """The command with a library loaded before all others."""
    return ["/usr/bin/env", f"LD_PRELOAD={library}", *command] if library else command
