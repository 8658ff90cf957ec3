"""Changes settings on somebody's server while it runs, whole or not at all.

MySQL 8 keeps what is set (`SET PERSIST`), so that it outlives a restart, and forgets it on `reset` (`RESET PERSIST`).
MariaDB has no such thing, and its option files are the owner's: there a change lasts until the next restart, and a
setting that only a restart changes is refused, with the line that the file needs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dbdyno.engines._mysql import units, versions
from dbdyno.engines._mysql.connection import ReadOnlySetting
from dbdyno.model.errors import TargetError
from dbdyno.model.knob import Assignment, Setting, Value

if TYPE_CHECKING:
    from dbdyno.engines._mysql.session import MySQLSession


def apply(session: MySQLSession, assignment: Assignment, reset: Sequence[str] | Mapping[str, str]) -> list[str]:
    """See `dbdyno.model.engine.Session.apply`. Raises `TargetError`; then what was changed is as it was before."""
    before = session.settings()
    found_with: dict[str, Value] = dict(reset) if isinstance(reset, Mapping) else {}
    done: list[str] = []
    waiting: list[str] = []
    try:
        for name, value in assignment.items():
            _require_known(session, before, name)
            if _same(session, before[name], value) and (not _keeps(session) or before[name].persisted):
                continue
            done.append(name)
            if not _set(session, name, value):
                waiting.append(name)
        for name in reset:
            done.append(name)
            if not _forget(session, before, name, found_with.get(name)):
                waiting.append(name)
    except TargetError:
        _take_back(session, before, done)
        raise
    return sorted(waiting)


def _keeps(session: MySQLSession) -> bool:
    return versions.VERSION_PERSIST <= session.version < versions.MARIADB


def _same(session: MySQLSession, setting: Setting, value: Value) -> bool:
    return not setting.pending_restart and session.agrees(setting, value)


def _require_known(session: MySQLSession, settings: Mapping[str, Setting], name: str) -> None:
    if name not in settings:
        raise TargetError("The server does not have this setting.", found=name, todo="leave it out")


def _set(session: MySQLSession, name: str, value: Value) -> bool:
    """Whether it is in force now; False: after a restart."""
    try:
        session.set_global(name, value, persist="PERSIST" if _keeps(session) else "GLOBAL")
    except ReadOnlySetting as error:
        if _keeps(session):
            session.set_global(name, value, persist="PERSIST_ONLY")
            return False
        line = " ".join(units.option_lines({name: value}))
        raise TargetError(
            error.what, found=error.found, todo=f"write `{line}` into the server's option file, and restart it"
        ) from None
    return True


def _forget(session: MySQLSession, before: Mapping[str, Setting], name: str, value: Value | None) -> bool:
    """Back to what the file says: to the value that it was found with, since the server cannot read its file again."""
    setting = before.get(name)
    if setting is None:
        return True
    if _keeps(session) and setting.persisted:
        session.run(f"RESET PERSIST IF EXISTS {name}", f"reset {name}")
    if value is None or session.agrees(setting, value):
        return True
    try:
        session.set_global(name, value)
    except ReadOnlySetting:
        return False
    return True


def _take_back(session: MySQLSession, before: Mapping[str, Setting], names: Sequence[str]) -> None:
    """After a failure: as it was. What cannot be taken back was not changed either (unknown or read-only)."""
    for name in reversed(names):
        if name not in before:
            continue
        try:
            if _keeps(session) and not before[name].persisted:
                session.run(f"RESET PERSIST IF EXISTS {name}", f"reset {name}")
            session.set_global(name, before[name].value)
        except TargetError as error:
            if "was lost" in error.what:
                raise
