"""One connection to a PostgreSQL server for questions and settings.

Durations are taken from the server's own clock (`clock_timestamp()`), so that no clock of ours is needed and the way
to the server is not part of them.
"""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, LiteralString

import psycopg
from psycopg import sql

from dbdyno.engines.postgresql.target import encryption
from dbdyno.model.engine import Debt
from dbdyno.model.errors import TargetError
from dbdyno.model.fact import Fact, Scalar
from dbdyno.model.knob import Assignment, Setting, Value
from dbdyno.model.probe import Probe
from dbdyno.model.target import Secret, Target

CONNECT_TIMEOUT_S = 10
QUESTION_TIMEOUT_MS = 10_000
"""No question of ours may hold a server up; what takes longer is not cheap enough to ask."""
LOCK_TIMEOUT_MS = 2_000
SETTLE_TIMEOUT_MS = 3_600_000
_VERSION_CHECKPOINTER_VIEW = 170000

_FACTS: tuple[tuple[str, str, str, LiteralString], ...] = (
    ("server.version", "", "server_version_num", "SELECT current_setting('server_version_num')::int"),
    ("server.version_text", "", "server_version", "SELECT current_setting('server_version')"),
    ("server.build", "", "version()", "SELECT version()"),
    ("server.uptime_s", "s", "pg_postmaster_start_time()",
     "SELECT extract(epoch FROM clock_timestamp() - pg_postmaster_start_time())::float8"),
    ("server.in_recovery", "", "pg_is_in_recovery()", "SELECT pg_is_in_recovery()"),
    ("server.data_checksums", "", "data_checksums", "SELECT current_setting('data_checksums') = 'on'"),
    ("server.block_bytes", "bytes", "block_size", "SELECT current_setting('block_size')::int"),
    ("server.superuser", "", "pg_roles", "SELECT rolsuper FROM pg_roles WHERE rolname = current_user"),
    ("server.data_directory", "", "data_directory", "SELECT current_setting('data_directory')"),
    ("server.database_bytes", "bytes", "pg_database_size()", "SELECT pg_database_size(current_database())"),
    ("server.cluster_bytes", "bytes", "pg_database_size()", "SELECT sum(pg_database_size(oid))::int8 FROM pg_database"),
    ("server.connections", "", "pg_stat_activity",
     "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"),
    ("server.extensions", "", "pg_extension",
     "SELECT string_agg(extname || ' ' || extversion, ', ' ORDER BY extname) FROM pg_extension"),
    ("server.preload_libraries", "", "shared_preload_libraries", "SELECT current_setting('shared_preload_libraries')"),
)  # fmt: skip


_PENDING: LiteralString = """
SELECT name FROM pg_settings AS s
WHERE pending_restart
  AND NOT (setting = boot_val AND NOT EXISTS (SELECT FROM pg_file_settings AS f WHERE f.name = s.name))
"""
"""The server leaves the mark on a setting that was taken out of the file again before any restart."""


def connect(target: Target, secret: Secret) -> PostgreSQLSession:
    """Opens a session. Raises `TargetError`: not reachable, wrong password, no such database, no free slot."""
    try:
        connection = psycopg.connect(
            encryption(target),
            host=target.host,
            port=target.port,
            user=target.user,
            password=secret.reveal(),
            dbname=target.database,
            connect_timeout=CONNECT_TIMEOUT_S,
            application_name="dyno",
            autocommit=True,
        )
    except psycopg.Error as error:
        raise _refused(target, str(error)) from None
    return PostgreSQLSession(target, connection)


def _refused(target: Target, message: str) -> TargetError:
    """The server's English words are what libpq passes on before a session exists; there is no SQLSTATE to read."""
    found = " ".join(message.removeprefix("connection failed: ").split())
    for words, what, todo in _REFUSALS:
        if any(word in message for word in words):
            return TargetError(f"{what}: {target.label}.", found=found, todo=todo)
    return TargetError(f"Cannot connect to {target.label}.", found=found, todo="see the server's log for the reason")


_REFUSALS: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (("password authentication failed", "no password supplied"), "The server refuses the password",
     "check the user, and the password in PGPASSWORD, ~/.pgpass or the target file's password_env/password_file"),
    (("no pg_hba.conf entry", "Peer authentication failed", "Ident authentication failed", "authentication failed"),
     "The server does not let this user in from here", "add a line to pg_hba.conf, or connect as another user"),
    (("database \"",), "There is no such database",
     "name an existing one at the end of the URL, or create it (createdb)"),
    (("role \"",), "There is no such user on the server",
     "name the user in the URL or PGUSER, or create it (createuser)"),
    (("too many clients", "remaining connection slots", "too many connections"),
     "The server has no free connection slot", "close connections, or raise max_connections"),
    (("the database system is starting up", "the database system is shutting down", "not yet accepting",
      "in recovery mode"),
     "The server does not answer queries now", "wait until it is up, then try again"),
    (("could not translate host name", "Name or service not known", "failed to resolve"),
     "The host's name is not known", "check the host in the URL or PGHOST"),
    (("Connection refused", "No such file or directory", "timeout expired", "No route to host",
      "Network is unreachable", "Permission denied", "server closed the connection unexpectedly"),
     "The server cannot be reached", "check that it runs, and host and port in the URL or PGHOST, PGPORT"),
)  # fmt: skip


class PostgreSQLSession:
    """See `dbdyno.model.engine.Session`."""

    def __init__(self, target: Target, connection: psycopg.Connection[tuple[Any, ...]]) -> None:
        self._target = target
        self._connection = connection
        self.version = connection.info.server_version
        self._granted: set[str] = set()
        self._limit_ms = QUESTION_TIMEOUT_MS
        self.version_text = connection.info.parameter_status("server_version") or str(self.version)
        self._limit(QUESTION_TIMEOUT_MS)
        self._run(sql.SQL("SET lock_timeout = {}").format(LOCK_TIMEOUT_MS), "set limits")

    def facts(self) -> list[Fact]:
        facts = []
        for name, unit, source, query in _FACTS:
            try:
                rows = self._run(sql.SQL(query), f"read {name}")
            except TargetError as error:
                if self._connection.closed:
                    raise
                facts.append(Fact(name=name, unit=unit, source=source, unknown=error.found or error.what))
            else:
                facts.append(Fact(name=name, unit=unit, source=source, value=_scalar(rows[0][0]) if rows else None))
        return facts

    def ask(self, probe: Probe) -> tuple[dict[str, Scalar], ...]:
        self._require(probe.privilege, probe.name)
        # Nearly all probes have the same limit: one more round trip only when it changes.
        if self._limit_ms != (limit_ms := int(probe.timeout_s * 1e3)):
            self._limit(limit_ms)
        try:
            with self._connection.cursor() as cursor:
                # The text is a probe file of ours; without parameters, a `%` in it stands for itself.
                cursor.execute(probe.query)
                names = [column.name for column in cursor.description or ()]
                rows = cursor.fetchall()
        except psycopg.Error as error:
            raise self._failed(f"ask probe {probe.name}", error) from None
        return tuple({name: _scalar(value) for name, value in zip(names, row, strict=True)} for row in rows)

    def _require(self, privilege: str, name: str) -> None:
        """Without it the server hides rows and columns of others instead of refusing: that must not read as calm."""
        if not privilege or privilege in self._granted:
            return
        query = sql.SQL("SELECT pg_has_role(current_user, {}, 'USAGE')").format(privilege)
        if not self._run(query, f"ask for the role {privilege}")[0][0]:
            raise TargetError(
                f"{self._target.label} does not show all that probe {name} asks for.",
                found=f"{self._target.user} lacks the role {privilege}",
                todo=f"GRANT {privilege} TO {self._target.user}",
            )
        self._granted.add(privilege)

    def settings(self) -> dict[str, Setting]:
        rows = self._run(
            sql.SQL(
                "SELECT name, setting, coalesce(unit, ''), source, pending_restart, "
                "coalesce(enumvals, '{}'), coalesce(sourcefile LIKE '%postgresql.auto.conf', false) FROM pg_settings"
            ),
            "read settings",
        )
        return {
            name: Setting(
                name=name,
                value=value or "",
                unit=unit,
                source=source,
                pending_restart=pending,
                choices=tuple(choices),
                persisted=persisted,
            )
            for name, value, unit, source, pending, choices, persisted in rows
        }

    def agrees(self, setting: Setting, value: Value) -> bool:
        from dbdyno.engines.postgresql import units

        return units.agrees(setting, value)

    def apply(self, assignment: Assignment, *, reset: Sequence[str] | Mapping[str, str] = ()) -> list[str]:
        from dbdyno.engines.postgresql import units

        before = self._altered([*assignment, *reset])
        try:
            for name, literal in units.literals(assignment).items():
                self._alter(name, literal)
            for name in reset:
                self._alter(name, None)
        except TargetError:
            self._restore(before)
            raise
        self._reload()
        names = [*assignment, *reset]
        rows = self._run(sql.SQL(_PENDING), "read pending settings")
        return sorted({name for (name,) in rows} & {name.lower() for name in names})

    def settle(self) -> Debt:
        block_bytes = int(self._run(sql.SQL("SELECT current_setting('block_size')::int"), "read block_size")[0][0])
        written_before, count_before = self._checkpoint_counters()
        started = self._now()
        self._limit(SETTLE_TIMEOUT_MS)
        try:
            self._run(sql.SQL("CHECKPOINT"), "run a checkpoint")
        finally:
            if not self._connection.closed:
                self._limit(QUESTION_TIMEOUT_MS)
        seconds = (self._now() - started).total_seconds()
        written = self._written_since(written_before, count_before)
        return Debt(seconds=max(seconds, 0.0), written_bytes=None if written is None else float(written * block_bytes))

    def close(self) -> None:
        self._connection.close()

    def _written_since(self, written_before: int | None, count_before: int | None) -> int | None:
        """The checkpointer reports its counters shortly after the command returns; they are awaited up to 1.5 s."""
        if written_before is None or count_before is None:
            return None
        written = None
        for _ in range(75):
            written, count = self._checkpoint_counters()
            if count is not None and count > count_before and written is not None and written > written_before:
                break
            self._run(sql.SQL("SELECT pg_sleep(0.02)"), "wait")
        return None if written is None else written - written_before

    def _checkpoint_counters(self) -> tuple[int | None, int | None]:
        query: LiteralString = (
            "SELECT buffers_written, num_timed + num_requested FROM pg_stat_checkpointer"
            if self.version >= _VERSION_CHECKPOINTER_VIEW
            else "SELECT buffers_checkpoint, checkpoints_timed + checkpoints_req FROM pg_stat_bgwriter"
        )
        rows = self._run(sql.SQL(query), "read checkpoint counters")
        return (int(rows[0][0]), int(rows[0][1])) if rows else (None, None)

    def _altered(self, names: Iterable[str]) -> dict[str, str | None]:
        """What ALTER SYSTEM had set before, so that half an application can be taken back."""
        rows = self._run(
            sql.SQL("SELECT name, setting FROM pg_file_settings WHERE sourcefile LIKE '%postgresql.auto.conf'"),
            "read what ALTER SYSTEM has set",
        )
        held = dict(rows)
        return {name: held.get(name.lower()) for name in names}

    def _restore(self, before: dict[str, str | None]) -> None:
        for name, value in before.items():
            try:
                self._alter(name, value)
            except TargetError:
                # An unknown name cannot be reset either, and was never set.
                if self._connection.closed or value is not None:
                    raise

    def _alter(self, name: str, literal: str | None) -> None:
        identifier = sql.Identifier(*name.split("."))
        statement = (
            sql.SQL("ALTER SYSTEM RESET {}").format(identifier)
            if literal is None
            else sql.SQL("ALTER SYSTEM SET {} = {}").format(identifier, sql.Literal(literal))
        )
        self._run(statement, f"reset {name}" if literal is None else f"set {name} = {literal}")

    def _reload(self) -> None:
        before = self._run(sql.SQL("SELECT pg_conf_load_time()"), "read pg_conf_load_time")[0][0]
        self._run(sql.SQL("SELECT pg_reload_conf()"), "reload the configuration")
        for _ in range(250):
            self._run(sql.SQL("SELECT pg_sleep(0.02)"), "wait for the reload")
            if self._run(sql.SQL("SELECT pg_conf_load_time()"), "read pg_conf_load_time")[0][0] != before:
                return
        raise TargetError(
            f"{self._target.label} did not reload its configuration within 5 s.", todo="see the server's log"
        )

    def _now(self) -> datetime.datetime:
        now: datetime.datetime = self._run(sql.SQL("SELECT clock_timestamp()"), "read the clock")[0][0]
        return now

    def _limit(self, milliseconds: int) -> None:
        self._run(sql.SQL("SET statement_timeout = {}").format(milliseconds), "set limits")
        self._limit_ms = milliseconds

    def _run(self, statement: sql.SQL | sql.Composed, to: str) -> list[tuple[Any, ...]]:
        if self._limit_ms < QUESTION_TIMEOUT_MS:
            # A probe's short limit was the last one; this recurs once at most.
            self._limit_ms = QUESTION_TIMEOUT_MS
            self._limit(QUESTION_TIMEOUT_MS)
        try:
            with self._connection.cursor() as cursor:
                cursor.execute(statement)
                return cursor.fetchall() if cursor.description else []
        except psycopg.Error as error:
            raise self._failed(to, error) from None

    def _failed(self, to: str, error: psycopg.Error) -> TargetError:
        message = " ".join((error.diag.message_primary or str(error)).split())
        found = f"{message} (SQLSTATE {error.sqlstate})" if error.sqlstate else message
        if self._connection.closed:
            return TargetError(
                f"The connection to {self._target.label} was lost.", found=found, todo="see the server's log"
            )
        todo = error.diag.message_hint or ""
        if isinstance(error, psycopg.errors.InsufficientPrivilege):
            todo = todo or f"connect as a user that may {to}, or grant {self._target.user} the privilege"
        return TargetError(f"{self._target.label} refused to {to}.", found=found, todo=todo)


def _scalar(value: Any) -> Scalar:
    match value:
        case None | bool() | int() | float() | str():
            return value
        case decimal.Decimal():
            return int(value) if value == value.to_integral_value() else float(value)
        case datetime.timedelta():
            return value.total_seconds()
        case datetime.datetime():
            return value.timestamp()
        case _:
            return str(value)
