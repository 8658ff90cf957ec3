"""Reads saved answers of ProxySQL's admin interface: `SELECT * FROM global_variables` (or of a layer of it),
`runtime_mysql_servers`, `stats_mysql_global`, `stats_mysql_connection_pool`, `runtime_mysql_users`, as tables of
text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dbdyno.engines.dumptext import clean, table_rows
from dbdyno.engines.proxysql import tables
from dbdyno.model.fact import Fact

_HEAD_CHARACTERS = 16_384
_VARIABLE = re.compile(r"(?:admin|mysql)-[a-z_]+")
_NULL = frozenset({"NULL", "(null)"})


def recognises(name: str, text: str) -> bool:
    """Whether the header is one of ours."""
    return _kind(_rows(text[:_HEAD_CHARACTERS])) != ""


def parse(name: str, text: str) -> list[Fact]:
    """The facts of one table; what cannot be read is left out."""
    rows = _rows(text)
    match _kind(rows):
        case "variables":
            return list(_variables(rows, name))
        case "stats":
            return list(tables.stats(_pairs(rows), name))
        case "servers":
            return list(tables.servers(rows, name))
        case "pool":
            return list(tables.pool(rows, None, name))
        case "users":
            return list(tables.users(rows, name))
        case _:
            return []


def _rows(text: str) -> list[dict[str, str]]:
    """Rows by the names of their columns. A row that was cut off is left out."""
    lines = list(table_rows(clean(text)))
    if not lines:
        return []
    header = [cell.strip().lower() for cell in lines[0]]
    return [
        dict(zip(header, ("" if cell in _NULL else cell for cell in row), strict=True))
        for row in lines[1:]
        if len(row) == len(header)
    ]


def _pairs(rows: list[dict[str, str]]) -> dict[str, str]:
    return {row["variable_name"]: row["variable_value"] for row in rows}


def _kind(rows: list[dict[str, str]]) -> str:
    if not rows:
        return ""
    columns = set(rows[0])
    if {"variable_name", "variable_value"} <= columns:
        names = [row["variable_name"] for row in rows]
        if any(_VARIABLE.fullmatch(one) for one in names):
            return "variables"
        return (
            "stats" if any(one.startswith(("ProxySQL_", "Client_Connections_", "ConnPool_")) for one in names) else ""
        )
    if {"hostgroup_id", "hostname", "max_connections"} <= columns:
        return "servers"
    if {"hostgroup", "srv_host", "connused"} <= columns:
        return "pool"
    return "users" if {"username", "password", "default_hostgroup"} <= columns else ""


def _variables(rows: list[dict[str, str]], name: str) -> Iterator[Fact]:
    values = {one: value for one, value in _pairs(rows).items() if _VARIABLE.match(one)}
    for one, value in values.items():
        yield Fact(name=f"setting.{one}", value="***" if value and tables.is_secret(one) else value, source=name)
    yield from tables.version_facts(values.get("admin-version", ""), name)
    yield from tables.credentials(values, name)
