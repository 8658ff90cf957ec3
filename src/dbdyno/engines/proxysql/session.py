"""One connection to ProxySQL's admin interface, which speaks the MySQL protocol and the SQL of SQLite.

Source: ProxySQL documentation, "The Admin Schemas", "Multi-layer Configuration System" (2024).
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

import pymysql
import pymysql.cursors

from dbdyno.engines.proxysql import tables
from dbdyno.model.errors import TargetError
from dbdyno.model.fact import Fact
from dbdyno.model.knob import Assignment, Setting
from dbdyno.model.target import Secret, Target

CONNECT_TIMEOUT_S = 5
QUESTION_TIMEOUT_S = 10
ROWS_MAX = 20_000
Row = dict[str, str]


def connect(target: Target, secret: Secret) -> ProxySession:
    """Opens a session. Raises `TargetError`: not reachable, wrong password, no admin interface."""
    where: dict[str, Any] = {"unix_socket": target.host} if target.host.startswith("/") else {"host": target.host}
    try:
        connection = pymysql.connect(
            **where,
            port=target.port,
            user=target.user,
            password=secret.reveal() or "",
            connect_timeout=CONNECT_TIMEOUT_S,
            read_timeout=QUESTION_TIMEOUT_S,
            write_timeout=QUESTION_TIMEOUT_S,
            # It has no transactions, and says no to SET AUTOCOMMIT in some versions.
            autocommit=None,
            charset="utf8mb4",
            cursorclass=pymysql.cursors.DictCursor,
        )
    except (pymysql.MySQLError, OSError, ValueError, IndexError, AssertionError) as error:
        raise _refusal(target, error) from None
    session = ProxySession(target, connection)
    try:
        session.open()
    except BaseException:
        session.close()
        raise
    return session


class ProxySession:
    """See `dbdyno.model.engine.Inspection`."""

    def __init__(self, target: Target, connection: pymysql.connections.Connection[pymysql.cursors.DictCursor]) -> None:
        self._target = target
        self._connection = connection
        self.version = 0
        self.version_text = ""

    def open(self) -> None:
        """Asks for the version. Raises `TargetError` when this is no admin interface."""
        try:
            found = self.rows("SELECT variable_value FROM global_variables WHERE variable_name = 'admin-version'")
        except TargetError as error:
            raise TargetError(
                f"{self._target.label} is no admin interface of ProxySQL.", found=error.found or error.what,
                todo="its port is 6032 by default; 6033 is that of the traffic",
            ) from None  # fmt: skip
        self.version_text = found[0]["variable_value"] if found else ""
        self.version = tables.version_of(self.version_text)

    def rows(self, query: str) -> list[Row]:
        """All rows as texts; NULL is an empty one. Raises `TargetError` with the server's words."""
        try:
            with self._connection.cursor() as cursor:
                cursor.execute(query)
                found = cursor.fetchmany(ROWS_MAX) if cursor.description else ()
        except (pymysql.MySQLError, OSError, ValueError, IndexError, AssertionError) as error:
            raise TargetError(f"{self._target.label} refuses a question.", found=_words(error)) from None
        return [
            {str(name).lower(): "" if value is None else str(value) for name, value in row.items()} for row in found
        ]

    def facts(self) -> list[Fact]:
        return list(tables.version_facts(self.version_text, "global_variables"))

    def settings(self) -> dict[str, Setting]:
        """What is in force (`runtime_global_variables`)."""
        found = self.rows("SELECT variable_name, variable_value FROM runtime_global_variables")
        return {
            row["variable_name"]: Setting(
                # What it has is what an undo gives back: where it comes from the table of differences says.
                name=row["variable_name"], value=row["variable_value"], source="runtime", persisted=True,
            )
            for row in found
        }  # fmt: skip

    def apply(self, assignment: Assignment, *, reset: Sequence[str] | Mapping[str, str] = ()) -> list[str]:
        """All or nothing: changes them in memory, loads them, and saves them to disk. Raises `TargetError`; then what
        was changed is as before. Returns the names that only a restart changes."""
        wanted = {name: str(value) for name, value in assignment.items()}
        wanted |= dict(reset) if isinstance(reset, Mapping) else {}
        before = {name: one.value for name, one in self.settings().items()}
        if missing := [name for name in (*wanted, *reset) if name not in before or name not in wanted]:
            raise TargetError("These settings are not known here.", found=", ".join(missing), todo="leave them out")
        try:
            self._write(wanted)
        except TargetError:
            with contextlib.suppress(TargetError):
                self._write({name: before[name] for name in wanted})
            raise
        return sorted(set(wanted) & tables.WAITS_FOR_RESTART)

    def _write(self, values: Mapping[str, str]) -> None:
        for name, value in values.items():
            self.rows(tables.statement_of(name, value))
        for kind in sorted({tables.kind_of(name) for name in values}):
            self.rows(f"LOAD {kind} VARIABLES TO RUNTIME")
            self.rows(f"SAVE {kind} VARIABLES TO DISK")

    def close(self) -> None:
        with contextlib.suppress(pymysql.MySQLError, OSError):
            self._connection.close()


def _words(error: BaseException) -> str:
    words = error.args[1] if len(error.args) > 1 else error
    return " ".join(str(words).split())[:500] or type(error).__name__


def _refusal(target: Target, error: BaseException) -> TargetError:
    words = _words(error)
    if "denied" in words:
        todo = "check the user, and the password: in the URL, PROXYSQL_ADMIN_PASSWORD or MYSQL_PWD"
        return TargetError(f"ProxySQL refuses the password: {target.label}.", found=words, todo=todo)
    what = "The admin interface cannot be reached" if "connect" in words.lower() else "This answers as no ProxySQL"
    return TargetError(
        f"{what}: {target.label}.", found=words, todo="check that it runs; the admin port is 6032 by default"
    )
