"""PostgreSQL's own checks of its files after a crash: what `pg_amcheck --heapallindexed` asks, in one connection.

Data checksums are verified by the way: each page that is read from the disk is held against its checksum, and the
clusters of ours have them. Sources: PostgreSQL 18 documentation, F.1 amcheck; 66.1 Database File Layout.
"""

from __future__ import annotations

from pathlib import Path

import psycopg

from dbdyno.engines.postgresql.target import encryption
from dbdyno.model.errors import TargetError
from dbdyno.model.target import Secret, Target

_TIMEOUT_MS = 120_000
_INDEXES = """
SELECT count(bt_index_check(c.oid, true)) FROM pg_class AS c JOIN pg_index AS i ON i.indexrelid = c.oid
JOIN pg_am AS a ON a.oid = c.relam
WHERE a.amname = 'btree' AND c.relkind = 'i' AND c.relpersistence = 'p' AND i.indisready AND i.indisvalid
"""
_HEAPS = """
SELECT c.oid::regclass::text, v.blkno, v.offnum, v.msg
FROM pg_class AS c JOIN pg_am AS a ON a.oid = c.relam, LATERAL verify_heapam(c.oid) AS v
WHERE a.amname = 'heap' AND c.relkind IN ('r', 't', 'm') AND c.relpersistence = 'p' LIMIT 20
"""
_HEAPS_SINCE = 140000


class Integrity:
    """See `dbdyno.crash.hooks.Integrity`."""

    def prepare(self, target: Target, secret: Secret) -> str:
        try:
            with _connect(target, secret) as connection:
                connection.execute("CREATE EXTENSION IF NOT EXISTS amcheck")
        except psycopg.Error as error:
            return f"amcheck cannot be had here: {_words(error)}"
        return ""

    def stir(self, target: Target, secret: Secret) -> None:
        try:
            with _connect(target, secret) as connection:
                connection.execute("CHECKPOINT")
        except psycopg.Error as error:
            raise TargetError(f"{target.label} makes no checkpoint.", found=_words(error)) from None

    def damages(self, target: Target, secret: Secret) -> list[str]:
        try:
            with _connect(target, secret) as connection:
                if connection.execute("SELECT 1 FROM pg_extension WHERE extname = 'amcheck'").fetchone() is None:
                    return []
                return [*_heaps(connection), *_indexes(connection)]
        except psycopg.OperationalError as error:
            raise TargetError(f"{target.label} could not be asked for damage.", found=_words(error)) from None

    def logged(self, target: Target, secret: Secret, table: str) -> None:
        """None: replicas and recoveries read the log that the server itself recovers from."""

    def file_checks(self, data: Path, programs: Path) -> list[list[str]]:
        tool = programs / "pg_checksums"
        return [[str(tool), "--check", "--pgdata", str(data)]] if tool.exists() else []

    def role_of(self, path: str) -> str:
        parts = path.split("/")
        if "pg_wal" in parts:
            return "log"
        if parts[-1] == "pg_control":
            return "header"
        return "data" if {"base", "global", "pg_xact", "pg_multixact"} & set(parts) else "other"


def _connect(target: Target, secret: Secret) -> psycopg.Connection[tuple[object, ...]]:
    return psycopg.connect(
        encryption(target),
        host=target.host,
        port=target.port,
        user=target.user,
        password=secret.reveal(),
        dbname=target.database,
        connect_timeout=10,
        autocommit=True,
        application_name="dyno",
        options=f"-c statement_timeout={_TIMEOUT_MS}",
    )


def _heaps(connection: psycopg.Connection[tuple[object, ...]]) -> list[str]:
    if connection.info.server_version < _HEAPS_SINCE:
        return []
    try:
        rows = connection.execute(_HEAPS).fetchall()
    except psycopg.DatabaseError as error:
        if isinstance(error, psycopg.OperationalError):
            raise
        return [f"checking the tables: {_words(error)}"]
    return [f"{table}, block {block}, item {item}: {says}" for table, block, item, says in rows]


def _indexes(connection: psycopg.Connection[tuple[object, ...]]) -> list[str]:
    """The first damaged index; the check ends there."""
    try:
        connection.execute(_INDEXES)
    except psycopg.DatabaseError as error:
        if isinstance(error, psycopg.OperationalError):
            raise
        return [f"checking the indexes: {_words(error)}"]
    return []


def _words(error: psycopg.Error) -> str:
    return " ".join(str(error).split())
