"""What a drill is asked, what an engine has to know for one, and what follows from it.

A drill does for real what a promise of the contract is there for: the disk is gone and the data come back from backup
and archive (`pitr`), or the primary is gone and its replica takes over (`replication`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from dbdyno.model.clock import Clock
from dbdyno.model.crash import Damage
from dbdyno.model.engine import Installation
from dbdyno.model.finding import Verdict
from dbdyno.model.knob import Assignment, Value
from dbdyno.model.record import FORMAT_VERSION, Record
from dbdyno.model.target import Secret, Target

RESTORE, FAILOVER = "restore", "failover"
MARKERS = "drill_marker"
"""A table with one column, `word`: what is in it after a recovery says how far the recovery went."""


class Run(Protocol):
    """Runs a program as the user of the servers. Raises `SandboxError` with its words when it fails, `HostError` when
    it cannot be run at all or does not end."""

    def __call__(self, command: list[str], *, stdin: Path | None = None, stdout: Path | None = None) -> None: ...


@dataclass(frozen=True)
class Place:
    """A server of a drill, as an engine's tools need to know it."""

    target: Target
    secret: Secret
    data: Path
    programs: Path
    """Folder of the server's binaries."""
    scratch: Path
    """A folder that is closed to others, for files that the tools need."""
    run: Run


@dataclass(frozen=True)
class Moment:
    """Where a recovery is to stop."""

    to: str
    """A time or a place in the log, in the engine's own words."""
    says: str
    """The same for people, with its resolution."""


@dataclass(frozen=True)
class Kept:
    """What is left when the data are gone, and where the recovery is to stop."""

    backup: Path
    archive: Path
    moment: Moment


@dataclass(frozen=True)
class Restored:
    """`restore_s`: until the files stood there; `replay_s`: from the server's start until it answered at the end of the
    log that was asked for."""

    restore_s: float
    replay_s: float


@dataclass(frozen=True)
class Lag:
    """How far a replica is behind: `amount` in `unit` (bytes of log, transactions), and in time where that is known."""

    amount: float
    unit: str
    ms: float | None = None


Start = Callable[[Assignment], float]
"""Starts a server with these settings beside those on trial; the seconds until it answered. Raises `SandboxError`."""


class Backup(Protocol):
    """How an engine is backed up, archived and restored: one of `BACKUPS` (by tool, the usual one first) in the
    `backup.py` beside its recipe. What the subject of the drill gets wrong is a `SandboxError`, what the machine lacks
    a `HostError`."""

    tool: str

    def lacks(self, installation: Installation) -> str:
        """What is missing for a backup of a server with these binaries; empty: nothing."""
        ...

    def settings(self, server: Place, archive: Path, *, broken: bool) -> Assignment:
        """Makes an empty folder ready for the log of a server that does not run yet; the settings that have it archived
        there. `broken`: that seem to, and do not."""
        ...

    def back_up(self, server: Place, into: Path) -> None:
        """Copies the running server into a folder that does not exist yet."""
        ...

    def mark(self, server: Place, word: str) -> None:
        """Commits one row in `MARKERS`, which is made when it is missing. Raises `TargetError`."""
        ...

    def note(self, server: Place) -> Moment:
        """Now: what was committed before belongs to it, what begins later does not. Raises `TargetError`."""
        ...

    def ship(self, server: Place, archive: Path, clock: Clock, timeout_s: float) -> str:
        """Sees to it that the log up to now is in the archive. Returns what is missing there, or an empty text."""
        ...

    def restore(self, server: Place, kept: Kept, start: Start, clock: Clock) -> Restored:
        """Makes the data from the backup, has the log replayed up to the moment; the server runs in the end."""
        ...


class Replication(Protocol):
    """How a server follows another: `Replication` in the `backup.py` beside its recipe. Errors as those of `Backup`."""

    def settings(self, *, synchronous: bool) -> Assignment:
        """What the primary needs, so that it waits for its replica or does not."""
        ...

    def follow(self, primary: Place, replica: Place, backup: Path, start: Start, *, synchronous: bool) -> None:
        """Makes the replica from a backup of the primary, starts it, and has it follow."""
        ...

    def waiting_for(self, primary: Place, replica: Place, *, synchronous: bool) -> str:
        """Why the two are not in step yet; empty when they are. Raises `TargetError`."""
        ...

    def lag(self, primary: Place, replica: Place) -> Lag | None:
        """None when it cannot be told now."""
        ...

    def cut_off(self, replica: Place) -> None:
        """From now on it receives nothing more."""
        ...

    def promote(self, replica: Place, clock: Clock, timeout_s: float) -> None:
        """Has it apply all that it has received, and take writes."""
        ...


class DrillPlan(Record, frozen=True, kw_only=True):
    kind: str
    """`restore` or `failover`."""
    tool: str = ""
    """Of several that an engine is backed up with; empty: the usual one."""
    assignment: dict[str, Value] = {}
    """Settings on trial; they win over what the drill would set."""
    synchronous: bool = False
    """Of a failover: whether the primary is to wait for its replica, so that nothing may be lost."""
    loss_ms_max: float = 10_000.0
    """Of a failover without waiting: the oldest acknowledgement that may be lost, in ms before the primary died."""
    control: str = ""
    """A negative control: what is broken on purpose. The drill has to fail."""
    threads: int = 4
    load_s: float = 2.0
    """Of each stretch of load: before and after the backup, after the moment."""
    archive_s_max: float = 30.0
    """So long the archive is waited for."""
    recovery_s_max: float = 120.0
    seed: int = 1
    accounts: int = 4000
    pages: int = 64


class Check(Record, frozen=True, kw_only=True):
    name: str
    verdict: Verdict
    says: str


class DrillResult(Record, frozen=True, kw_only=True):
    """What a drill saw. Figures are None where it did not come so far."""

    format: int = FORMAT_VERSION
    target: str
    server: str
    """Engine and version."""
    promise: str
    """Of the contract: `pitr` or `replication`."""
    plan: DrillPlan
    tool: str
    verdict: Verdict
    says: str
    checks: tuple[Check, ...] = ()
    damages: tuple[Damage, ...] = ()
    damages_left_out: int = 0
    moment: str = ""
    """Where the recovery was to stop, with its resolution."""
    window_ms: float | None = None
    """Time that it took to note the moment: what was under way meanwhile may be there or not."""
    acknowledged: int | None = None
    """Transactions that the load got acknowledged."""
    required: int | None = None
    """Of these, how many had to be there."""
    found: int | None = None
    """Transactions that are there."""
    between: int | None = None
    """That were under way at the moment, and may be there or not."""
    lost: int | None = None
    lost_oldest_ms: float | None = None
    backup_s: float | None = None
    backup_bytes: int | None = None
    archive_bytes: int | None = None
    restore_s: float | None = None
    replay_s: float | None = None
    promote_s: float | None = None
    """From the command to promote until the replica had taken a write."""
    lag_max: float | None = None
    lag_unit: str = ""
    lag_ms_max: float | None = None
    lag_samples: int = 0
    seconds: float = 0.0
