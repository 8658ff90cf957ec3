"""The change of a setting as a fix, for all rules of this folder."""

from __future__ import annotations

from dbdyno.engines.postgresql.formulas import with_unit
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Fix, Needs
from dbdyno.model.knob import Value

UNITS = {
    "autovacuum_naptime": "s",
    "autovacuum_vacuum_cost_delay": "ms",
    "autovacuum_work_mem": "kB",
    "checkpoint_timeout": "s",
    "checkpoint_warning": "s",
    "effective_cache_size": "8kB",
    "idle_in_transaction_session_timeout": "ms",
    "log_autovacuum_min_duration": "ms",
    "log_min_duration_statement": "ms",
    "log_temp_files": "kB",
    "maintenance_work_mem": "kB",
    "max_slot_wal_keep_size": "MB",
    "max_wal_size": "MB",
    "min_wal_size": "MB",
    "shared_buffers": "8kB",
    "statement_timeout": "ms",
    "tcp_keepalives_idle": "s",
    "wal_buffers": "8kB",
    "wal_keep_size": "MB",
    "work_mem": "kB",
}
"""Base unit of the settings that rules change, as in pg_settings.unit."""
_RESTART = frozenset(
    {"archive_mode", "autovacuum_max_workers", "huge_pages", "ignore_invalid_pages", "logging_collector",
     "max_connections", "max_wal_senders", "shared_buffers", "shared_preload_libraries", "track_commit_timestamp",
     "wal_buffers", "wal_level"}
)  # fmt: skip
"""Context `postmaster` in pg_settings."""
_LISTS = frozenset({"shared_preload_libraries"})


def setting(facts: Facts, name: str, value: Value) -> Fix:
    """The fix that gives a setting another value; numbers are in its base unit."""
    before = facts.value(f"setting.{name}")
    known = facts.find(f"setting.{name}")
    restart = name in _RESTART
    reload = "" if restart else " SELECT pg_reload_conf();"
    # What ALTER SYSTEM did not set before is undone by taking our setting away: the files hold again, word for word.
    ours = known is not None and known.source.endswith("(persisted)") and str(before) != ""
    undo = f"ALTER SYSTEM SET {name} = {stated(name, before)};" if ours else f"ALTER SYSTEM RESET {name};"
    file = facts.find("server.config_file")
    return Fix(
        kind="setting",
        name=name,
        value=str(value),
        before=str(before),
        live=f"ALTER SYSTEM SET {name} = {stated(name, value)};" + reload,
        file=str(file.value) if file and not file.unknown else "postgresql.conf",
        line=f"{name} = {written(name, value)}",
        needs=Needs.RESTART if restart else Needs.NOTHING,
        undo=undo + reload,
    )


def stated(name: str, value: object) -> str:
    """A value as ALTER SYSTEM takes it: where the setting is a list, `'a,b'` would be one element with a comma."""
    if name in _LISTS:
        return ", ".join("'" + word.strip().replace("'", "''") + "'" for word in str(value).split(","))
    return written(name, value)


def written(name: str, value: object) -> str:
    """A value as postgresql.conf takes it: with its unit, texts in quotes."""
    text = str(value)
    unit = UNITS.get(name, "")
    if unit and text.lstrip("-").isdigit() and int(text) > 0:
        return f"'{with_unit(int(text), unit)}'"
    if text.replace(".", "", 1).lstrip("-").isdigit() or text in ("on", "off"):
        return text
    return "'" + text.replace("'", "''") + "'"


def by_hand(name: str, command: str, *, undo: str = "") -> Fix:
    """The fix that a person has to look at first: a statement or a command as it would be typed."""
    return Fix(kind="statement", name=name, live=command, needs=Needs.PERSON, undo=undo)
