"""How the loss of power is made: `block`, a recorded disk under a real file system, or `folder`, without root and loop
devices, where files and names are volatile until they are synced. Both are used alike."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dbdyno.crash import disk, folder
from dbdyno.crash.disk import CrashStates, FileSystem, RecordingDisk
from dbdyno.crash.folder import FolderStates, RecordingFolder
from dbdyno.crash.hooks import Integrity
from dbdyno.crash.powerloss import KINDS, CrashState
from dbdyno.crash.recorder import Recorder
from dbdyno.model.clock import Clock
from dbdyno.model.crash import CrashPlan

BLOCK, FOLDER = "block", "folder"
MODES = (BLOCK, FOLDER)
WORK = "crash"
"""Folder of a sandbox's proofs in its own: a folder a proof, in it one a configuration."""
NO_FILE_SYSTEM = "none"
"""What stands for the file system in the mode that has none of its own."""

States = CrashStates | FolderStates


def why_not(mode: str, file_system: str) -> str:
    """Why this machine cannot do it; empty when it can, as far as can be told without trying."""
    return disk.why_not(file_system) if mode == BLOCK else folder.why_not_folder()


def recorder(plan: CrashPlan, where: Path, clock: Clock) -> Recorder:
    """What records into `where`, not opened yet."""
    if plan.mode == FOLDER:
        return RecordingFolder(where, clock)
    file_system: FileSystem = plan.file_system  # type: ignore[assignment]
    return RecordingDisk(where, plan.disk_bytes, file_system, clock)


def write_hints(recording: Recorder, integrity: Integrity) -> None:
    """Which file lies where; a recorded folder knows its files by itself."""
    if isinstance(recording, RecordingDisk):
        recording.write_hints(integrity.role_of)


def plan_states(plan: CrashPlan, where: Path, count: int, kinds: Sequence[str] = KINDS) -> list[CrashState]:
    """Crash states of the recording in `where`. Raises `HostError`."""
    chosen = folder.plan_folder_states if plan.mode == FOLDER else disk.plan_states
    return chosen(where, plan.seed, count, kinds)


def crash_states(plan: CrashPlan, where: Path, clock: Clock) -> States:
    """What shows the states of a closed recording."""
    return FolderStates(where, clock) if plan.mode == FOLDER else CrashStates(where, clock)


def clean(where: Path, clock: Clock) -> None:
    """Unmounts and ends whatever a killed dyno left there, in any mode."""
    disk.clean(where, clock)
    folder.clean_folder(where, clock)


def put_away(folder: Path, clock: Clock) -> None:
    """The same for all proofs on the sandbox in this folder. Harmless when there is nothing. Raises `HostError`."""
    for where in sorted((folder / WORK).glob("*/*/disk")):
        clean(where, clock)
