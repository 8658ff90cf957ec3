"""Options of the default column family as settings of their own.

The server keeps them in one setting as a text, `rocksdb_default_cf_options`: `write_buffer_size=64m;compression=…`.
Here each is a setting `rocksdb_default_cf_options.<option>`, so that they can be searched one by one; what is in force
is read from `information_schema.ROCKSDB_CF_OPTIONS`, which has other names and spellings for some. Source: MariaDB
manual, "rocksdb_default_cf_options" and "Information Schema ROCKSDB_CF_OPTIONS Table" (2024).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dbdyno.engines._mysql import units
from dbdyno.model.knob import Assignment, Setting

TEXT = "rocksdb_default_cf_options"
QUERY = "SELECT option_type, value FROM information_schema.ROCKSDB_CF_OPTIONS WHERE cf_name = 'default'"
_NAMES = {"COMPRESSION_TYPE": "compression"}
_SWITCHES = {"ON": "true", "OFF": "false"}


def joined(assignment: Assignment) -> Assignment:
    """The assignment as the server takes it: all options of the family in their one setting, where the first stood."""
    whole: Assignment = {}
    options: list[str] = []
    for name, value in assignment.items():
        setting, dot, option = name.partition(".")
        if not dot or setting != TEXT:
            whole[name] = value
            continue
        options.append(f"{option}={value if isinstance(value, str) else units.written(int(value)).lower()}")
        whole[TEXT] = ";".join(options)
    return whole


def settings(rows: Iterable[tuple[str, str]]) -> dict[str, Setting]:
    """What is in force, by the names that `joined` takes."""
    found: dict[str, Setting] = {}
    for kind, value in rows:
        option = _NAMES.get(str(kind), str(kind).lower())
        if "::" in option:
            continue
        word = _SWITCHES.get(str(value), units.plain(str(value)))
        found[f"{TEXT}.{option}"] = Setting(name=f"{TEXT}.{option}", value=word)
    return found


def only_at_start(assignment: Mapping[str, object]) -> list[str]:
    """The options of the family among the names: none can be set while the server runs."""
    return [name for name in assignment if name.startswith(f"{TEXT}.")]
