"""One connection to a server of the MySQL family for questions and settings.

Durations are taken from the server's own clock (`SYSDATE(6)`), so that no clock of ours is needed and the way to the
server is not part of them. How deferred writes are forced to the disk is the storage engine's own: `settle` is left to
its folder.
"""

from __future__ import annotations

import abc
import datetime
import decimal
from collections.abc import Mapping, Sequence
from typing import Any

import pymysql

from dbdyno.engines._mysql import applying, grants, units, versions
from dbdyno.engines._mysql import settings as settings_
from dbdyno.engines._mysql.connection import Connection, ReadOnlySetting, connect, words_of
from dbdyno.engines.probefile import shaped
from dbdyno.model.engine import Debt
from dbdyno.model.errors import TargetError
from dbdyno.model.fact import Fact, Scalar
from dbdyno.model.knob import Assignment, Setting, Value
from dbdyno.model.probe import Probe
from dbdyno.model.target import Secret, Target

QUESTION_TIMEOUT_MS = 10_000
"""No question of ours may hold a server up; what takes longer is not cheap enough to ask."""
LOCK_TIMEOUT_S = 2
NET_TIMEOUT_S = 20.0
"""How much longer than a statement may take its answer is waited for."""
_CUT_OFF = {1053, 1927, 2003, 2006, 2013, 2055}
"""Errors after which there is no connection any more."""
_FORBIDDEN = {1044, 1045, 1142, 1143, 1227, 1370}
_READ_ONLY = 1238

_FACTS: tuple[tuple[str, str, str, str], ...] = (
    ("server.version_text", "", "version()", "SELECT VERSION()"),
    ("server.build", "", "version_comment", "SELECT CONCAT(@@version_comment, ', ', @@version_compile_machine)"),
    ("server.uptime_s", "s", "Uptime", "SHOW GLOBAL STATUS LIKE 'Uptime'"),
    ("server.read_only", "", "read_only", "SHOW GLOBAL VARIABLES LIKE 'read_only'"),
    ("server.block_bytes", "bytes", "innodb_page_size", "SELECT @@innodb_page_size"),
    ("server.storage_engine", "", "default_storage_engine", "SELECT @@default_storage_engine"),
    ("server.data_directory", "", "datadir", "SELECT @@datadir"),
    ("server.binary_log", "", "log_bin", "SHOW GLOBAL VARIABLES LIKE 'log_bin'"),
    ("server.database_bytes", "bytes", "information_schema.TABLES",
     "SELECT SUM(data_length + index_length) FROM information_schema.TABLES WHERE table_schema = DATABASE()"),
    ("server.cluster_bytes", "bytes", "information_schema.TABLES",
     "SELECT SUM(data_length + index_length) FROM information_schema.TABLES"),
    ("server.connections", "", "Threads_connected", "SHOW GLOBAL STATUS LIKE 'Threads_connected'"),
    ("server.connections_max", "", "max_connections", "SELECT @@max_connections"),
    ("server.plugins", "", "information_schema.PLUGINS",
     "SELECT GROUP_CONCAT(plugin_name ORDER BY plugin_name SEPARATOR ', ') FROM information_schema.PLUGINS "
     "WHERE plugin_library IS NOT NULL AND plugin_status = 'ACTIVE'"),
)  # fmt: skip


class MySQLSession(abc.ABC):
    """See `dbdyno.model.engine.Session`."""

    def __init__(self, target: Target, secret: Secret) -> None:
        """Raises `TargetError` when there is no connection."""
        self._target = target
        self._connection: Connection = connect(target, secret)
        self._limit_ms = 0
        words = str(self.run("SELECT CONCAT(VERSION(), ' ', @@version_comment)", "ask for the version")[0][0])
        known = versions.parse(words)
        if known is None:
            raise TargetError(f"{target.label} is of no version that we know.", found=words)
        self.version, self.version_text = known
        self._grants: grants.Grants | None = None
        self._steps: dict[str, float] = {}
        self._limit(QUESTION_TIMEOUT_MS)
        self.run(f"SET SESSION lock_wait_timeout = {LOCK_TIMEOUT_S}", "set limits")
        self.run("SET SESSION sql_mode = ''", "set limits")

    @property
    def mariadb(self) -> bool:
        return versions.is_mariadb(self.version)

    def facts(self) -> list[Fact]:
        facts = [Fact(name="server.version", source="version()", value=self.version)]
        for name, unit, source, query in _FACTS:
            try:
                rows = self.run(query, f"read {name}")
            except TargetError as error:
                if not self._connection.open:
                    raise
                facts.append(Fact(name=name, unit=unit, source=source, unknown=error.found or error.what))
            else:
                # SHOW answers with a name and a value.
                value = _scalar(rows[0][-1]) if rows else None
                facts.append(Fact(name=name, unit=unit, source=source, value=_said(value)))
        return [*facts, self._replica()]

    def _replica(self) -> Fact:
        """Whether it applies another server's changes; a load on it would break that."""
        name, source = "server.in_recovery", versions.replica_status(self.version)
        try:
            rows = self.run(source, "read the replica's status")
        except TargetError as error:
            if not self._connection.open:
                raise
            return Fact(name=name, source=source, unknown=error.found or error.what)
        return Fact(name=name, source=source, value=bool(rows))

    def ask(self, probe: Probe) -> tuple[dict[str, Scalar], ...]:
        self._require(probe.privilege, probe.name)
        if self._limit_ms != (limit_ms := int(probe.timeout_s * 1e3)):
            self._limit(limit_ms)
        try:
            with self._connection.cursor() as cursor:
                # The text is a probe file of ours; without parameters, a `%` in it stands for itself.
                cursor.execute(probe.query)
                names = [column[0] for column in cursor.description or ()]
                rows = cursor.fetchall()
        except (pymysql.Error, OSError) as error:
            raise self._failed(f"ask probe {probe.name}", error) from None
        found = [tuple(_scalar(value) for value in row) for row in rows]
        return shaped(probe, names, found)

    def _require(self, privilege: str, name: str) -> None:
        """Without it the server hides what belongs to others instead of refusing: that must not read as calm."""
        if not privilege:
            return
        if self._grants is None:
            lines = [str(row[0]) for row in self.run("SHOW GRANTS", "read its own privileges")]
            self._grants = grants.parse(lines)
        wanted = [one.strip() for one in privilege.split("|")]
        if not any(one in self._grants for one in wanted):
            raise TargetError(
                f"{self._target.label} does not show all that probe {name} asks for.",
                found=f"{self._target.user} lacks the privilege {' or '.join(wanted)}",
                todo=f"GRANT {wanted[0]} ON *.* TO {self._target.user}",
            )

    def settings(self) -> dict[str, Setting]:
        found = settings_.read(self)
        self._steps = settings_.steps(found)
        return found

    def agrees(self, setting: Setting, value: Value) -> bool:
        if not self._steps:
            self.settings()
        return units.agrees(setting, value, step=self._steps.get(setting.name, 0.0))

    def apply(self, assignment: Assignment, *, reset: Sequence[str] | Mapping[str, str] = ()) -> list[str]:
        return applying.apply(self, assignment, reset)

    @abc.abstractmethod
    def settle(self) -> Debt:
        """What is owed lies in the storage engine, so each engine's session knows how to have it written."""

    def close(self) -> None:
        if self._connection.open:
            self._connection.close()

    # For the storage engine's own questions.

    def status(self, *names: str) -> dict[str, float]:
        """Counters and gauges by lower-case name; those that the server does not have are absent."""
        quoted = ", ".join(units.quoted(name) for name in names)
        rows = self.run(f"SHOW GLOBAL STATUS WHERE Variable_name IN ({quoted})", "read counters")
        found = {str(name).lower(): units.number(str(value)) for name, value in rows}
        return {name: value for name, value in found.items() if value is not None}

    def now(self) -> datetime.datetime:
        now: datetime.datetime = self.run("SELECT SYSDATE(6)", "read the clock")[0][0]
        return now

    def pause(self, seconds: float) -> None:
        self.run(f"SELECT SLEEP({seconds:g})", "wait")

    def set_global(self, name: str, value: Value, *, persist: str = "GLOBAL") -> None:
        """Raises `TargetError`; a `ReadOnlySetting` where only a restart changes the setting."""
        self.run(f"SET {persist} {_identifier(name)} = {units.literal(value)}", f"set {name} = {value}")

    def run(self, statement: str, to: str) -> list[tuple[Any, ...]]:
        if 0 < self._limit_ms < QUESTION_TIMEOUT_MS:
            # A probe's short limit was the last one; this recurs once at most.
            self._limit(QUESTION_TIMEOUT_MS)
        try:
            with self._connection.cursor() as cursor:
                cursor.execute(statement)
                return list(cursor.fetchall()) if cursor.description else []
        except (pymysql.Error, OSError) as error:
            raise self._failed(to, error) from None

    def _limit(self, milliseconds: int) -> None:
        self._limit_ms = QUESTION_TIMEOUT_MS
        if self.mariadb:
            self.run(f"SET SESSION max_statement_time = {milliseconds / 1e3:g}", "set limits")
        else:
            self.run(f"SET SESSION max_execution_time = {milliseconds}", "set limits")
        self._limit_ms = milliseconds
        # Under it, the net for a server that does not answer at all.
        vars(self._connection)["_read_timeout"] = milliseconds / 1e3 + NET_TIMEOUT_S

    def _failed(self, to: str, error: BaseException) -> TargetError:
        code, text = words_of(error)
        found = f"{text} (error {code})" if code else text
        if not self._connection.open or code in _CUT_OFF or isinstance(error, OSError):
            if self._connection.open:
                self._connection.close()
            return TargetError(
                f"The connection to {self._target.label} was lost.", found=found, todo="see the server's log"
            )
        todo = ""
        if code in _FORBIDDEN:
            todo = f"connect as a user that may {to}, or grant {self._target.user} the privilege"
        kind = ReadOnlySetting if code == _READ_ONLY else TargetError
        return kind(f"{self._target.label} refused to {to}.", found=found, todo=todo)


def _identifier(name: str) -> str:
    """Names of settings are letters, digits and underscores; one dot parts a key cache from its setting."""
    if not name.replace("_", "").replace(".", "").isalnum():
        raise TargetError("This cannot be the name of a setting.", found=repr(name))
    return name


def _said(value: Scalar) -> Scalar:
    """SHOW answers with words only."""
    if not isinstance(value, str):
        return value
    return int(value) if value.isdigit() else {"ON": True, "OFF": False}.get(value, value)


def _scalar(value: Any) -> Scalar:
    match value:
        case None | bool() | int() | float() | str():
            return value
        case decimal.Decimal():
            return int(value) if value == value.to_integral_value() else float(value)
        case bytes():
            return value.decode("utf-8", "replace")
        case datetime.timedelta():
            return value.total_seconds()
        case datetime.datetime():
            return value.replace(tzinfo=datetime.UTC).timestamp()
        case _:
            return str(value)
