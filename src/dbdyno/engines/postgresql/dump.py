"""Reads what people send of a PostgreSQL server: pg_settings as CSV or as a table, SHOW ALL, postgresql.conf, the
version, and the answers of our own collecting script."""

from __future__ import annotations

import contextlib
import csv
import io
import re
import shlex
from collections.abc import Iterator

from dbdyno.engines.dumptext import clean, is_cloud, number, numeric_version, table_rows
from dbdyno.engines.postgresql import units
from dbdyno.engines.postgresql.formulas import units as knob_units
from dbdyno.engines.postgresql.questions import QUESTIONS
from dbdyno.engines.postgresql.rules._setting import UNITS
from dbdyno.model.fact import Fact, Scalar

FOLDER = "postgresql/"
_ANSWER = re.compile(r"(?:^|/)question_([a-z0-9_.]+?)(?:_([0-9]+))?\.csv$")
_CONF = re.compile(r"(?:^|/)postgresql(?:\.auto)?\.conf$")
_CONF_LINE = re.compile(r"\s*([A-Za-z_][\w.]*)\s*(?:=|\s)\s*('(?:[^']|'')*'|[^#\s]+)")
_BANNER = re.compile(r"\s*(?:version\s*[-|+\s]*)?PostgreSQL \d+(?:\.\d+|beta|rc|devel)")
_ALL_SETTINGS_MIN = 250
"""Versions 13 to 18 show more than 300; a table of fewer is an excerpt."""
_ONLY_WITH_PRIVILEGE = "data_directory"
_BASE = """SELECT 'server.cluster_bytes', sum(pg_database_size(oid))::text FROM pg_database
UNION ALL SELECT 'server.uptime_s', extract(epoch FROM now() - pg_postmaster_start_time())::text
UNION ALL SELECT 'server.in_recovery', pg_is_in_recovery()::text
UNION ALL SELECT 'server.build', version()"""


def recognises(name: str, text: str) -> bool:
    """Whether a file is one of ours by its name, its header, or its first words."""
    if _ANSWER.search(name) or _CONF.search(name) or name.endswith(FOLDER + "base.csv"):
        return True
    return bool(_BANNER.match(text)) or _settings_header(text) is not None


def parse(name: str, text: str) -> list[Fact]:
    """The facts of one file; what cannot be read is left out."""
    if match := _ANSWER.search(name):
        return list(_answer(match[1], int(match[2] or 0), text))
    if name.endswith(FOLDER + "base.csv"):
        return [Fact(name=row[0], value=_typed(row[1]), source=name) for row in _csv(text) if len(row) == 2]
    if _CONF.search(name):
        return list(_conf(name, text))
    if _BANNER.match(text) and _settings_header(text) is None:
        return list(_version(text.strip().splitlines()[-1] if "version" in text[:20] else text, name))
    return list(_settings(name, text))


def _settings_header(text: str) -> list[str] | None:
    first = next(iter(table_rows(text[:4096])), [])
    header = [cell.strip().lower() for cell in first]
    return header if {"name", "setting"} <= set(header) else None


def _settings(name: str, text: str) -> Iterator[Fact]:
    header = _settings_header(text) or ["name", "setting"]
    at = {column: index for index, column in enumerate(header)}
    shown = "description" in at and "unit" not in at
    facts: dict[str, Fact] = {}
    waiting = []
    for row in table_rows(text):
        key = row[at["name"]].lower()
        # A row that was cut off at the end of the text says nothing.
        if len(row) <= at["setting"] or key == "name" or not re.fullmatch(r"[a-z_][\w.]*", key):
            continue
        unit = row[at["unit"]] if "unit" in at and len(row) > at["unit"] else ""
        value = _in_base(key, row[at["setting"]]) if shown else row[at["setting"]]
        source = row[at["source"]] if "source" in at and len(row) > at["source"] else name
        facts[key] = Fact(name=f"setting.{key}", value=value, unit=unit or _unit(key), source=source)
        if "pending_restart" in at and len(row) > at["pending_restart"] and row[at["pending_restart"]] == "t":
            waiting.append(key)
    yield from facts.values()
    yield from _from_settings(facts, name)
    if "pending_restart" in at:
        yield Fact(name="server.pending_restart_count", value=len(waiting), source=name)
        yield Fact(name="server.pending_restart_examples", value=", ".join(waiting[:5]), source=name)


def _from_settings(facts: dict[str, Fact], name: str) -> Iterator[Fact]:
    complete = len(facts) >= _ALL_SETTINGS_MIN and _ONLY_WITH_PRIVILEGE in facts
    yield Fact(name="server.settings_complete", value=complete, source=name)
    for setting, fact in (("data_directory", "server.data_directory"), ("config_file", "server.config_file")):
        if setting in facts:
            yield Fact(name=fact, value=facts[setting].value, source=name)
    if "data_checksums" in facts:
        yield Fact(name="server.data_checksums", value=facts["data_checksums"].value == "on", source=name)
    if "server_version_num" in facts or "server_version" in facts:
        words = str(facts["server_version"].value) if "server_version" in facts else ""
        digits = str(facts["server_version_num"].value) if "server_version_num" in facts else ""
        yield from _version(words, name, int(digits) if digits.isdigit() else 0)


def _version(words: str, source: str, known: int = 0) -> Iterator[Fact]:
    parts = numeric_version(words)
    version = known
    if not version and parts:
        minor = parts[1] if len(parts) > 1 else 0
        version = parts[0] * 10000 + minor if parts[0] >= 10 else parts[0] * 10000 + minor * 100 + sum(parts[2:3])
    if version:
        yield Fact(name="server.version", value=version, source=source)
    if words:
        yield Fact(name="server.version_text", value=words.strip()[:200].removeprefix("PostgreSQL "), source=source)
        yield Fact(name="server.managed", value=is_cloud(words), source=source)


def _conf(name: str, text: str) -> Iterator[Fact]:
    """What a file asks for: not all settings, and perhaps not what the server runs with."""
    for line in clean(text).split("\n"):
        if (match := _CONF_LINE.match(line)) and not line.lstrip().startswith("#"):
            key, raw = match[1].lower(), match[2]
            value = raw[1:-1].replace("''", "'") if raw.startswith("'") and len(raw) > 1 else raw
            if key not in ("include", "include_dir", "include_if_exists"):
                yield Fact(name=f"setting.{key}", value=_in_base(key, value), unit=_unit(key), source=name)
    yield Fact(name="server.settings_complete", value=False, source=name)


def _answer(question: str, version_min: int, text: str) -> Iterator[Fact]:
    """One row of an answer of the script. An empty file is a question that was refused, or not of this version."""
    asked = [one for one in QUESTIONS if one.name == question and one.version_min == version_min]
    rows = _csv(text)
    for one in asked:
        if len(rows) == 1 and len(rows[0]) == len(one.columns):
            for column, value in zip(one.columns, rows[0], strict=True):
                empty = value == "" and not column.endswith("_examples")
                yield Fact(name=column, value=_typed(value), source=f"question {question}",
                           unknown="the server gives no value" if empty else "")  # fmt: skip


def collect_script() -> str:
    """A fragment of shell that asks everything with psql, which connects as its environment (PGHOST …) says."""
    lines = ["if command -v psql >/dev/null 2>&1; then", "  PGCONNECT_TIMEOUT=5; export PGCONNECT_TIMEOUT"]
    ask = "psql -X -q -w --csv -v ON_ERROR_STOP=1"
    lines.append(f"  emit {FOLDER}pg_settings.csv {ask} -c 'SELECT * FROM pg_settings'")
    lines.append(f"  emit {FOLDER}base.csv {ask} -t -c {shlex.quote(_BASE)}")
    for one in QUESTIONS:
        suffix = f"_{one.version_min}" if one.version_min else ""
        query = "SET statement_timeout = '5s'; " + one.query
        lines.append(f"  emit {FOLDER}question_{one.name}{suffix}.csv {ask} -t -c {shlex.quote(query)}")
    return "\n".join([*lines, "fi"])


def _csv(text: str) -> list[list[str]]:
    """Our own CSV; rows after one that is broken are left out."""
    rows: list[list[str]] = []
    with contextlib.suppress(csv.Error):
        rows.extend(row for row in csv.reader(io.StringIO(clean(text))) if row)
    return rows


def _typed(value: str) -> Scalar:
    if value in ("t", "f", "true", "false"):
        return value[0] == "t"
    numeric = number(value) if re.fullmatch(r"-?\d+(\.\d+)?([eE][+-]?\d+)?", value) else None
    return value if numeric is None else int(numeric) if numeric.is_integer() else numeric


def _unit(setting: str) -> str:
    return UNITS.get(setting) or knob_units().get(setting, "")


def _in_base(setting: str, text: str) -> str:
    """`128MB` as the number in the setting's base unit; a text that is no quantity stays."""
    base = _unit(setting)
    value = units.in_base(text, base) if base else None
    return text if value is None or not value.is_integer() else str(int(value))
