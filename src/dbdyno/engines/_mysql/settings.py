"""The server's variables as settings: value, where it comes from, what it takes, whether it waits for a restart.

Sources: MariaDB manual, "Information Schema SYSTEM_VARIABLES Table"; MySQL 8.0 manual, "Performance Schema
variables_info Table" and "persisted_variables Table". A server that has neither, or a user who may not read them, gives
the values alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from dbdyno.engines._mysql import units, versions
from dbdyno.model.errors import TargetError
from dbdyno.model.knob import Setting

_MIB = 1 << 20
_CHUNK, _INSTANCES, _POOL = "innodb_buffer_pool_chunk_size", "innodb_buffer_pool_instances", "innodb_buffer_pool_size"
_MARIADB = (
    "SELECT LOWER(variable_name), global_value, global_value_origin, IFNULL(enum_value_list, ''), variable_type "
    "FROM information_schema.SYSTEM_VARIABLES"
)
_SOURCES = "SELECT LOWER(variable_name), variable_source FROM performance_schema.variables_info"
_PERSISTED = "SELECT LOWER(variable_name), variable_value FROM performance_schema.persisted_variables"


class Asks(Protocol):
    version: int

    def run(self, statement: str, to: str) -> list[tuple[Any, ...]]: ...


def read(session: Asks) -> dict[str, Setting]:
    """All global variables by lower-case name. Raises `TargetError` when they cannot be read at all."""
    values = {
        str(name).lower(): units.plain(str(value or "")) for name, value in session.run(
            "SHOW GLOBAL VARIABLES", "read settings")
    }  # fmt: skip
    if versions.is_mariadb(session.version):
        return _mariadb(values, _or_nothing(session, _MARIADB))
    if session.version < versions.VERSION_PERSIST:
        return {name: Setting(name=name, value=value) for name, value in values.items()}
    return _mysql(values, dict(_or_nothing(session, _SOURCES)), dict(_or_nothing(session, _PERSISTED)))


def _or_nothing(session: Asks, query: str) -> list[tuple[Any, ...]]:
    try:
        return session.run(query, "read where settings come from")
    except TargetError as error:
        if "was lost" in error.what:
            raise
        return []


def _mariadb(values: Mapping[str, str], rows: list[tuple[Any, ...]]) -> dict[str, Setting]:
    about = {str(name): (str(origin or ""), str(words), str(kind)) for name, _value, origin, words, kind in rows}
    found = {}
    for name, value in values.items():
        origin, words, kind = about.get(name, ("", "", ""))
        choices = tuple(words.split(",")) if words and kind in ("ENUM", "BOOLEAN") else ()
        found[name] = Setting(name=name, value=value, source=origin.lower(), choices=choices)
    return found


def _mysql(values: Mapping[str, str], sources: Mapping[str, str], persisted: Mapping[str, str]) -> dict[str, Setting]:
    found = {}
    rounding = steps({name: Setting(name=name, value=value) for name, value in values.items()})
    for name, value in values.items():
        held = persisted.get(name)
        plain = Setting(name=name, value=value)
        found[name] = Setting(
            name=name,
            value=value,
            source=str(sources.get(name, "")).lower(),
            persisted=held is not None,
            pending_restart=held is not None and not units.agrees(plain, str(held), step=rounding.get(name, 0.0)),
        )
    return found


def steps(settings: Mapping[str, Setting]) -> dict[str, float]:
    """To what multiples the server rounds sizes: the buffer pool to whole chunks in every instance, files to MiB."""
    chunk = units.number(settings[_CHUNK].value) if _CHUNK in settings else None
    instances = units.number(settings[_INSTANCES].value) if _INSTANCES in settings else None
    pool = (chunk or 2.0 * _MIB) * (instances or 1.0)
    sizes = ("innodb_log_file_size", "innodb_redo_log_capacity", "innodb_log_buffer_size", "key_buffer_size")
    return {_POOL: max(pool, 2.0 * _MIB), **dict.fromkeys(sizes, float(_MIB))}
