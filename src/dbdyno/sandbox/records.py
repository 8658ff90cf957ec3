"""What is kept of a sandbox on disk: what it is (`sandbox.json`), and how it runs (`state.json`)."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import msgspec

from dbdyno.model.engine import Installation
from dbdyno.model.errors import SandboxError
from dbdyno.model.knob import Value
from dbdyno.model.record import FORMAT_VERSION, Record, from_json, to_json
from dbdyno.sandbox.options import SandboxOptions
from dbdyno.sandbox.process import Identity, ProcessId

R = TypeVar("R", bound=Record)


class SandboxRecord(Record, frozen=True, kw_only=True):
    """`sandbox.json`; written last, so that a folder without it is a creation that was cut off."""

    format: int = FORMAT_VERSION
    name: str
    engine: str
    installation: Installation
    made_with: dict[str, Value] = {}
    """Settings that the server took when it was made, and has to be started with ever after."""
    options: SandboxOptions
    """What the sandbox really stands on; `notes` says what of the wish could not be had."""
    wished: SandboxOptions | None = None
    """What was asked for, when that is not what could be had."""
    identity: Identity | None = None
    user: str
    database: str
    socket_dir: str
    created_unix_s: float
    iops_measured: float | None = None
    """Direct writes a second on the limited disk, measured when it was made."""
    notes: tuple[str, ...] = ()


class SandboxState(Record, frozen=True, kw_only=True):
    """`state.json`; rewritten whenever the sandbox changes."""

    port: int = 0
    process: ProcessId | None = None
    owner: ProcessId | None = None
    """The dyno that started it."""
    keep: bool = False
    """Whether the server stays when the dyno that started it ends."""
    assignment: dict[str, Value] = {}
    """Of the last start that succeeded."""
    device: str | None = None
    """Loop device under the data while it is attached, e.g. `/dev/loop0`."""
    groups: tuple[str, ...] = ()
    """Control groups that we made and have to remove."""


class SandboxSummary(Record, frozen=True, kw_only=True):
    """One line of `dyno sandbox list`."""

    name: str
    engine: str = ""
    product: str = ""
    """How the engine's server is called where there are several."""
    status: str
    """`running`, `stopped` or `broken`."""
    version: str = ""
    disk: str = ""
    bytes: int = 0
    """What its files take on the host's disk."""
    url: str = ""
    folder: str
    notes: tuple[str, ...] = ()


def write_record(path: Path, record: Record) -> None:
    """Replaces a file whole: a reader finds the old or the new one."""
    new = path.with_name(path.name + ".new")
    new.write_bytes(to_json(record) + b"\n")
    new.replace(path)


def read_record(path: Path, kind: type[R]) -> R:
    """Raises `SandboxError` when it is missing or is not one."""
    try:
        return from_json(path.read_bytes(), kind)
    except FileNotFoundError:
        raise SandboxError(
            f"{path.parent} is not a sandbox.", found=f"{path.name} is missing", todo="dyno sandbox list shows them all"
        ) from None
    except (OSError, msgspec.DecodeError) as error:
        raise SandboxError(
            f"{path} cannot be read.", found=str(error), todo="remove the sandbox (dyno sandbox rm) and create it again"
        ) from None
