"""Errors that a user meets. Each says what happened, what was found, and what to do about it."""

from __future__ import annotations

EXIT_OK = 0
EXIT_WORSE = 1
"""A judgement went against the subject: a regression, a failed check."""
EXIT_ERROR = 2
"""Bad input, or something could not be done."""
EXIT_INTERRUPTED = 130


class DynoError(Exception):
    """An error of the world, not of ours: it is shown without a traceback.

    `what` says what happened, `found` what was seen (may be empty), `todo` what the user can do (may be empty).
    """

    exit_code = EXIT_ERROR

    def __init__(self, what: str, *, found: str = "", todo: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.found = found
        self.todo = todo

    def __str__(self) -> str:
        parts = [self.what]
        if self.found:
            parts.append(f"  found: {self.found}")
        if self.todo:
            parts.append(f"  to do: {self.todo}")
        return "\n".join(parts)


class UsageError(DynoError):
    """The command, a flag, a file of the user's says something that cannot be."""


class TargetError(DynoError):
    """The server cannot be reached, refuses us, or lacks a privilege."""


class PermissionRefused(DynoError):
    """The target does not allow what the command would do."""


class HostError(DynoError):
    """The machine lacks or refuses something: a tool, root, a loop device, disk space."""


class SandboxError(DynoError):
    """A private server could not be created, started, stopped or reset."""


class DriverError(DynoError):
    """The load driver failed; `code` is the class of its error event (see the driver protocol)."""

    def __init__(self, what: str, *, found: str = "", todo: str = "", code: str = "") -> None:
        super().__init__(what, found=found, todo=todo)
        self.code = code


class RecordError(DynoError):
    """A run or study folder is missing, of another version, or not readable."""


class ContractBroken(DynoError):
    """A setting, or what the server says of it after its start, breaks the durability contract."""
