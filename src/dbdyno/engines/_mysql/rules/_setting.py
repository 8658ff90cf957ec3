"""The change of a setting as a fix, for all rules of the family."""

from __future__ import annotations

from dbdyno.engines._mysql import units, versions
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Fix, Needs
from dbdyno.model.knob import Value

MIB, GIB = 1 << 20, 1 << 30
_RESTART = frozenset(
    {"innodb_buffer_pool_instances", "innodb_doublewrite", "innodb_flush_method", "innodb_page_cleaners",
     "innodb_use_native_aio", "innodb_support_xa", "innodb_autoinc_lock_mode", "innodb_force_recovery",
     "innodb_force_load_corrupted", "log_bin", "performance_schema", "secure_file_priv", "slave_skip_errors",
     "replica_skip_errors", "innodb_log_file_size", "innodb_log_buffer_size", "innodb_log_files_in_group",
     "innodb_read_only", "rocksdb_paranoid_checks", "rocksdb_allow_mmap_writes",
     "rocksdb_allow_to_start_after_corruption", "rocksdb_ignore_datadic_errors", "innodb_buffer_pool_load_at_startup"}
)  # fmt: skip
_ONLINE_SINCE = {
    "innodb_log_file_size": versions.MARIADB + 100900,
    "innodb_log_buffer_size": 80000,
    "innodb_doublewrite": versions.MARIADB + 110000,
}
"""Sources: MySQL 8.0 manual, 15.14 (2023); MariaDB manual, "InnoDB System Variables" (2024)."""
_PERSISTED_READ_ONLY = "SET PERSIST_ONLY"


def setting(facts: Facts, name: str, value: Value) -> Fix:
    """The fix that gives a setting another value; numbers are in its base unit (bytes, seconds)."""
    before = facts.value(f"setting.{name}")
    version = int(facts.number("server.version")) if facts.has("server.version") else 0
    restart = waits_for_restart(name, version)
    live, undo = _statements(facts, name, value, str(before), version=version, restart=restart)
    file = facts.find("server.config_file")
    return Fix(
        kind="setting",
        name=name,
        value=str(value),
        before=str(before),
        live=live,
        file=str(file.value) if file and not file.unknown else "my.cnf",
        line=units.option_lines({name: value})[0],
        needs=Needs.RESTART if restart else Needs.NOTHING,
        undo=undo,
    )


def waits_for_restart(name: str, version: int) -> bool:
    """Whether the running server refuses the change. A vendor's versions never reach into the other's."""
    since = _ONLINE_SINCE.get(name)
    online = since is not None and version >= since and versions.is_mariadb(version) == versions.is_mariadb(since)
    return name in _RESTART and not online


def _statements(facts: Facts, name: str, value: Value, before: str, *, version: int, restart: bool) -> tuple[str, str]:
    """What makes the change and what takes it back; empty where only the option file does it."""
    known = facts.find(f"setting.{name}")
    if versions.is_mariadb(version) or version < versions.VERSION_PERSIST:
        live = "" if restart else f"SET GLOBAL {name} = {units.literal(value)};"
        undo = "-- take the line out of the option file, then restart"
        return live, undo if restart else f"SET GLOBAL {name} = {units.literal(before)};"
    verb = _PERSISTED_READ_ONLY if restart else "SET PERSIST"
    live = f"{verb} {name} = {units.literal(value)};"
    # What was not persisted before is undone by taking our value away: the option files hold again, word for word.
    if known is not None and known.source.endswith("(persisted)"):
        return live, f"{verb} {name} = {units.literal(before)};"
    back = "" if restart else f" SET GLOBAL {name} = {units.literal(before)};"
    return live, f"RESET PERSIST IF EXISTS {name};{back}"


def by_hand(name: str, command: str, *, undo: str = "") -> Fix:
    """The fix that a person has to look at first: a statement or a command as it would be typed."""
    return Fix(kind="statement", name=name, live=command, needs=Needs.PERSON, undo=undo)


def mariadb(facts: Facts) -> bool:
    return versions.is_mariadb(int(facts.number("server.version")))


def since(facts: Facts, *, mysql: int | None = None, maria: int | None = None, below: int | None = None) -> bool:
    """Whether the version is at least that of its vendor; None: never of that vendor. `below` ends the range."""
    version = int(facts.number("server.version"))
    start = maria if versions.is_mariadb(version) else mysql
    version %= versions.MARIADB
    return start is not None and version >= start and (below is None or version < below)


def exists(facts: Facts, name: str) -> bool:
    """Whether the server has a setting. Where not all were visible, an absent one counts as there: then the rule says
    unknown and not well."""
    if facts.has(f"setting.{name}"):
        return True
    return not (facts.has("server.settings_complete") and facts.flag("server.settings_complete"))


def binary_log(facts: Facts) -> bool:
    return facts.flag("setting.log_bin")
