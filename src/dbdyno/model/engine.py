"""What a kind of server can do for us. Every engine's folder implements these protocols and nothing else knows it.

An engine need not do all: `Checkable` is enough to be checked, `Guarded` to be held to a contract, `Advised` to be
given a configuration, `Engine` for load, tuning, records and sandboxes. Who needs more asks with `isinstance`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

from dbdyno.model.fact import Fact, Scalar
from dbdyno.model.knob import Advice, Assignment, KnobSpace, Setting, Value
from dbdyno.model.machine import Machine
from dbdyno.model.probe import Probe
from dbdyno.model.record import Record
from dbdyno.model.target import Secret, Target


class Debt(Record, frozen=True, kw_only=True):
    """What the server has promised to write and not yet written, and what it cost to write it (`settle`)."""

    seconds: float
    """How long the flush took."""
    written_bytes: float | None = None


class Inspection(Protocol):
    """One open connection of a check: what the server says of itself, and its settings changed on demand."""

    version: int
    """The server's version in the engine's own numbering, e.g. 150018."""
    version_text: str

    def facts(self) -> list[Fact]: ...
    def settings(self) -> dict[str, Setting]: ...
    def apply(self, assignment: Assignment, *, reset: Sequence[str] | Mapping[str, str] = ()) -> list[str]:
        """Persists settings on a server that runs and reloads it; `reset` names go back to what the file says (with the
        values that they were found with, for servers that cannot read their file again).
        Returns the names that still need a restart."""
        ...

    def close(self) -> None: ...


class Session(Inspection, Protocol):
    """One open connection for questions and settings; not for load."""

    def ask(self, probe: Probe) -> tuple[dict[str, Scalar], ...]:
        """Answers of a probe. Raises `TargetError` with the server's words (a missing privilege, a lost server)."""
        ...

    def agrees(self, setting: Setting, value: Value) -> bool:
        """Whether a setting as the server reads it back means the value that was asked for (units, synonyms)."""
        ...

    def settle(self) -> Debt:
        """Writes all that was deferred (a checkpoint), and says how long that took."""
        ...


class Installation(Record, frozen=True, kw_only=True):
    """Server binaries that were found."""

    version: int
    version_text: str
    bin: str
    """Folder of the binaries."""
    origin: str
    """Where it comes from: `wheel`, `system`, `path`, `fetched`, `--bin`."""
    scheme: str = ""
    """URL scheme of this very product where the engine has several products; empty: the engine's first."""


class Recipe(Protocol):
    """How to make and run a private server; every path is inside the sandbox's folder."""

    def installations(self, bin_dir: Path | None = None) -> list[Installation]:
        """Newest preferred first: the embedded default, then installed ones."""
        ...

    def initialise(
        self,
        installation: Installation,
        data: Path,
        *,
        user: str,
        run_as: str | None,
        password_file: Path | None = None,
        made_with: Mapping[str, Value] | None = None,
    ) -> None:
        """Makes an empty server in `data` with the all-mighty `user` and a database of the same name. `run_as` is the
        user of the operating system; `made_with` are settings that a server takes only when it is made. Raises
        `SandboxError` with the tool's words, `UsageError` for settings that it cannot be made with."""
        ...

    def configure(self, data: Path, *, port: int, socket_dir: Path, assignment: Assignment) -> None:
        """Writes the whole configuration: ours (port, socket, logging) and the assignment. Replaces the last one."""
        ...

    def command(self, installation: Installation, data: Path) -> list[str]:
        """The server in the foreground, to be started by the sandbox (which drops root)."""
        ...

    def ready(self, target: Target, secret: Secret) -> bool:
        """Whether it accepts a connection and answers a query; False while it starts or recovers."""
        ...

    def stop_signal(self, mode: str) -> int:
        """Signal for `smart`, `fast` or `immediate` (a crash of the process)."""
        ...

    def log_files(self, data: Path) -> list[Path]: ...


class Checkable(Protocol):
    """The least that an engine is. With `facts.py`, `dump.py` and `rules/` beside it, it can be checked."""

    name: str
    schemes: tuple[str, ...]
    """URL schemes, the first is the canonical one."""

    def target(self, url: str, environment: Mapping[str, str]) -> tuple[Target, Secret]:
        """Parses a URL with the engine's own conventions (environment variables, password files)."""
        ...

    def connect(self, target: Target, secret: Secret) -> Inspection: ...


@runtime_checkable
class Guarded(Protocol):
    """An engine whose settings promise something: its table of guards (and of knobs, when any may be searched)."""

    name: str

    def knobs(self, machine: Machine, version: int) -> KnobSpace: ...


@runtime_checkable
class Advised(Guarded, Protocol):
    """An engine with a formula for a whole configuration."""

    def advice(self, machine: Machine, version: int) -> list[Advice]: ...
    def render(self, assignment: Assignment) -> tuple[str, list[str]]:
        """A configuration as text for the server's file, and as statements."""
        ...


@runtime_checkable
class Engine(Checkable, Advised, Protocol):
    """All of it: checked, loaded, recorded, tuned, and run as a sandbox. At most seven methods; what only one engine
    needs is not here."""

    dialect: str
    """The driver's name for its wire protocol and schema files."""

    def connect(self, target: Target, secret: Secret) -> Session: ...
    def probes(self, version: int) -> list[Probe]: ...
    def recipe(self) -> Recipe: ...
