"""Reads the ledger's tables through the engine's own session, in words that all SQL dialects of ours understand."""

from __future__ import annotations

from typing import Any

from dbdyno.crash.check import Rows
from dbdyno.model.engine import Session
from dbdyno.model.fact import Scalar
from dbdyno.model.probe import Column, ColumnKind, Probe

TIMEOUT_S = 60.0
JOURNAL = "ledger_journal"
_TABLES = {
    "journal": (JOURNAL, ("client", "seq", "kind", "a", "b", "amount")),
    "entries": ("ledger_entry", ("client", "seq", "part", "payload")),
    "accounts": ("ledger_account", ("id", "balance", "filler")),
    "pages": ("ledger_page", ("id", "client", "seq", "body")),
}
_TEXTS = ("payload", "filler", "body")


def read_rows(session: Session) -> Rows:
    """All rows of all tables. Raises `TargetError` with the server's words when it cannot give them."""
    return Rows(**{name: _table(session, name, *table) for name, table in _TABLES.items()})


def _table(session: Session, name: str, table: str, columns: tuple[str, ...]) -> list[Any]:
    query = f"SELECT {', '.join(columns)} FROM {table}"
    shape = tuple(Column(name=column, kind=ColumnKind.TEXT) for column in columns)
    probe = Probe(name=name, title=f"rows of {table}", columns=shape, query=query, timeout_s=TIMEOUT_S)
    casts = [(column, str if column in _TEXTS else _number) for column in columns]
    return [tuple(cast(row[column]) for column, cast in casts) for row in session.ask(probe)]


def _number(value: Scalar) -> int:
    """NULL, which no column of ours allows, becomes a number that none of ours has."""
    return -1 if value is None else int(value)
