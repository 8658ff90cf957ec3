"""What an audit of a server of the family looks at beside settings: counters, schema, accounts, replication, files.

The folders of its storage engines offer this as their own `facts.py`.
"""

from __future__ import annotations

import datetime
import functools
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from dbdyno.engines._mysql import memory, units, versions
from dbdyno.engines._mysql.questions import ANSWERED_WITHIN_S, QUESTIONS, REPLICA_COLUMNS, Question
from dbdyno.engines._mysql.session import MySQLSession
from dbdyno.model.engine import Session
from dbdyno.model.errors import TargetError
from dbdyno.model.fact import Fact, Scalar
from dbdyno.model.facts import Facts
from dbdyno.model.probe import Column, ColumnKind, Probe

RATES = ("innodb_os_log_written", "innodb_pages_written", "com_commit", "queries", "opened_tables")
_THREADS = ("replication.io_running", "replication.sql_running")
_CONFIG_BYTES_MAX = 1 << 20
_CONFIG_FILES = ("/etc/my.cnf", "/etc/mysql/my.cnf", "/etc/mysql/mariadb.cnf")
_CONFIG_FOLDERS = ("/etc/my.cnf.d", "/etc/mysql/conf.d", "/etc/mysql/mysql.conf.d", "/etc/mysql/mariadb.conf.d")
_CLOUDS = (("aurora_version", "aurora"), ("rds_heartbeat", "rds"), ("azure_server_name", "azure"),
           ("cloudsql_iam_authentication", "cloudsql"))  # fmt: skip
"""Settings that only one managed service has."""


def read_facts(session: Session) -> Iterator[Fact]:
    """Counters, then all questions that fit the version. What is refused leaves its facts with that reason."""
    yield Fact(name="server.settings_complete", value=True, source="SHOW GLOBAL VARIABLES shows all to everybody")
    yield from _status(session)
    if isinstance(session, MySQLSession):
        _prepare(session)
    for question in QUESTIONS:
        if question.version_min <= session.version < question.version_below:
            yield from _asked(session, question)
    yield from _replica(session)


def _prepare(session: MySQLSession) -> None:
    """Long lists of columns must not be cut, and statistics must not be those of yesterday."""
    statements = ["SET SESSION group_concat_max_len = 1048576"]
    if not session.mariadb and session.version >= versions.VERSION_PERSIST:
        statements.append("SET SESSION information_schema_stats_expiry = 0")
    for statement in statements:
        session.run(statement, "prepare the audit")


def _status(session: Session) -> Iterator[Fact]:
    probe = _probe("status", "SHOW GLOBAL STATUS", "variable_name", "value")
    for row in session.ask(probe):
        name, value = str(row["variable_name"]).lower(), str(row["value"])
        # Certificates and cipher lists are long and no counters.
        if len(value) <= 256:
            yield Fact(name=f"status.{name}", value=_typed(value), source="SHOW GLOBAL STATUS")


def _asked(session: Session, question: Question) -> Iterator[Fact]:
    source = f"question {question.name}"
    probe = _probe(question.name, question.query, *(f"c{number}" for number in range(len(question.columns))),
                   privilege=question.privilege)  # fmt: skip
    try:
        rows = session.ask(probe)
    except TargetError as error:
        if "was lost" in error.what:
            raise
        for name in question.columns:
            yield Fact(name=name, source=source, unknown=error.found or error.what)
        return
    values: Iterable[Scalar] = rows[0].values() if rows else [None] * len(question.columns)
    for name, value in zip(question.columns, values, strict=True):
        unknown = "the server gives no value" if value is None else ""
        yield Fact(name=name, source=source, value=value, unit="s" if name.endswith("_s") else "", unknown=unknown)


def _probe(name: str, query: str, *columns: str, privilege: str = "") -> Probe:
    named = tuple(Column(name=column, kind=ColumnKind.TEXT) for column in columns)
    return Probe(name=f"audit_{name}", title=name, columns=named, query=query, privilege=privilege,
                 timeout_s=ANSWERED_WITHIN_S)  # fmt: skip


def _replica(session: Session) -> Iterator[Fact]:
    """The state of the first channel that is not well, else of the first. A server that copies nobody has no rows."""
    asked = [column for group in REPLICA_COLUMNS.values() for column in group]
    probe = _probe("replica", versions.replica_status(session.version), *asked)
    try:
        rows = session.ask(probe)
    except TargetError as error:
        for name in ("server.role", *REPLICA_COLUMNS):
            yield Fact(name=name, source=probe.query, unknown=error.found or error.what)
        return
    yield Fact(name="server.role", source=probe.query, value="replica" if rows else "primary")
    if not rows:
        return
    ill = [row for row in rows if any(_first(row, *REPLICA_COLUMNS[name]) != "Yes" for name in _THREADS)]
    row = (ill or list(rows))[0]
    for name, columns in REPLICA_COLUMNS.items():
        value = _first(row, *columns)
        unknown = "the server gives no value" if value is None else ""
        yield Fact(name=name, source=probe.query, value=value, unknown=unknown)


def _first(row: dict[str, Scalar], *names: str) -> Scalar:
    return next((row[name] for name in names if name in row), None)


def counters(session: Session) -> dict[str, float]:
    """Numbers that only rise, for rates; empty when they are refused."""
    if not isinstance(session, MySQLSession):
        return {}
    try:
        return session.status(*RATES)
    except TargetError:
        return {}


def derive(facts: Facts) -> Iterator[Fact]:
    """Facts that follow from others: the flavour, the planned memory, what is known of this version."""
    yield Fact(name="server.flavour", source="settings", value=_flavour(facts))
    yield Fact(name="server.forks_for_snapshot", source="it never forks for one", value=False)
    yield Fact(name="server.prefers_filesystem", source="Linux performance tuning tips for MySQL (Percona, 2013)",
               value="ext4 xfs")  # fmt: skip
    yield from _of_version(facts)
    yield from _deprecated(facts)
    if not facts.has("server.port"):
        yield Fact(name="server.port", source="port", value=facts.number("setting.port"))
    connections = facts.number("setting.max_connections")
    yield Fact(name="server.connections_max", source="max_connections", value=connections)
    yield Fact(name="server.files_needed", source="max_connections + 2 * table_open_cache + 10 (MySQL manual, 8.4.3.1)",
               value=connections + 2 * facts.number("setting.table_open_cache") + 10)  # fmt: skip
    large = facts.has("setting.large_pages") and facts.flag("setting.large_pages")
    yield Fact(name="server.huge_pages_wanted", source="large_pages", value=large)
    yield Fact(name="server.cache_bytes", unit="B", source="innodb_buffer_pool_size",
               value=facts.number("setting.innodb_buffer_pool_size"))  # fmt: skip
    yield Fact(name="server.memory_planned_bytes", unit="B", source="the sum of rule MY020",
               value=memory.planned_bytes(facts))  # fmt: skip
    method = facts.text("setting.innodb_flush_method").upper()
    yield Fact(name="server.uses_page_cache", source="innodb_flush_method", value="O_DIRECT" not in method)


def _flavour(facts: Facts) -> str:
    for name, flavour in _CLOUDS:
        if facts.has(f"setting.{name}"):
            return flavour
    words = " ".join(str(facts.text(name)) for name in ("server.version_text", "setting.version_comment",
                     "setting.basedir") if facts.has(name)).lower()  # fmt: skip
    for word in ("aurora", "rdsdbbin", "azure", "percona"):
        if word in words:
            return {"rdsdbbin": "rds"}.get(word, word)
    if facts.has("server.version"):
        return versions.product(int(facts.number("server.version")))
    return "mariadb" if "mariadb" in words else "mysql"


@functools.cache
def advisories() -> dict[str, Any]:
    with (Path(__file__).parent / "advisories.toml").open("rb") as file:
        return tomllib.load(file)


def _of_version(facts: Facts) -> Iterator[Fact]:
    version = int(facts.number("server.version"))
    product = versions.product(version)
    series = f"{version % versions.MARIADB // 10_000}.{version % 10_000 // 100}"
    known, source = advisories(), "advisories.toml"
    end = known["end_of_life"][product].get(series)
    at = datetime.datetime.fromisoformat(end["day"]).replace(tzinfo=datetime.UTC).timestamp() if end else None
    unknown = "" if end else f"series {series} is not in our table"
    yield Fact(name="server.series", source="server.version", value=f"{product} {series}")
    told = end["source"] if end else source
    yield Fact(name="server.end_of_life_unix_s", unit="s", source=told, value=at, unknown=unknown)
    faults = [
        f"{one['says']} (mended in {one['mended']}; {one['source']}): {one['todo']}"
        for one in known["fault"]
        if one["product"] == product and one["version_min"] <= version % versions.MARIADB < one["version_fixed"]
    ]
    yield Fact(name="server.faults_count", source=source, value=len(faults))
    yield Fact(name="server.faults_examples", source=source, value="; ".join(faults))


def _deprecated(facts: Facts) -> Iterator[Fact]:
    """Settings that somebody chose and that a later version does not have. Where it is not told who chose a value, one
    that is another than the usual value counts as chosen."""
    if not any(fact.name.startswith("setting.") for fact in facts):
        return
    known = int(facts.number("server.version"))
    product, version = versions.product(known), known % versions.MARIADB
    found = []
    for row in advisories()["setting"]:
        fact = facts.find(f"setting.{row['name']}")
        if fact is None or fact.unknown or row["product"] != product or version < row["version_min"]:
            continue
        origin = fact.source.lower().removesuffix(" (persisted)")
        told = origin in ("compiled", "config", "global", "sql", "explicit", "server", "command_line", "persisted",
                          "dynamic", "compile-time", "command-line", "login", "extra", "user", "auto")  # fmt: skip
        chosen = origin not in ("compiled", "compile-time", "auto") if told else True
        if chosen and str(fact.value).lower() not in [word.lower() for word in row["usual"]]:
            found.append(f"{row['name']} goes or is gone in {row['gone']}, instead: {row['instead']}")
    yield Fact(name="server.deprecated_count", source="advisories.toml", value=len(found))
    yield Fact(name="server.deprecated_examples", source="advisories.toml", value="; ".join(found))


def read_files(root: Path, _facts: Facts) -> Iterator[Fact]:
    """Whether somebody else on the machine can read a password in an option file."""
    name = "security.config_secret_world_readable"
    exposed, looked = [], []
    try:
        for path in _option_files(root):
            shown = "/" + path.relative_to(root).as_posix()
            looked.append(shown)
            if path.stat().st_mode & 0o004 and _reachable(root, path) and _holds_secret(path):
                exposed.append(shown)
    except OSError as error:
        yield Fact(name=name, source=", ".join(looked), unknown=error.strerror or str(error))
        return
    unknown = "" if looked else "no option file was found in the usual places"
    yield Fact(name=name, source=", ".join(looked), value=", ".join(exposed), unknown=unknown)


def _option_files(root: Path) -> Iterator[Path]:
    for one in (*_CONFIG_FILES, *_administrators(root)):
        if (path := root / one.lstrip("/")).is_file():
            yield path
    for one in _CONFIG_FOLDERS:
        folder = root / one.lstrip("/")
        if folder.is_dir():
            yield from sorted(folder.glob("*.cnf"))


def _administrators(root: Path) -> Iterator[str]:
    """The administrator's own option file, in the home that this machine's list of users gives."""
    users = root / "etc/passwd"
    for line in users.read_text(errors="replace").splitlines() if users.is_file() else ():
        fields = line.split(":")
        if len(fields) > 5 and fields[2] == "0":
            yield f"{fields[5]}/.my.cnf"


def _reachable(root: Path, file: Path) -> bool:
    """Whether everybody may enter all folders above it."""
    above = [folder for folder in file.parents if folder != root and root in folder.parents]
    return all(folder.stat().st_mode & 0o001 for folder in above)


def _holds_secret(file: Path) -> bool:
    with file.open("rb") as stream:
        text = stream.read(_CONFIG_BYTES_MAX).decode(errors="replace").lower()
    lines = [line.partition("#")[0].replace(" ", "").replace("_", "-") for line in text.splitlines()]
    keys = ("password=", "wsrep-sst-auth=", "master-password=")
    return any(line.startswith(keys) and line.partition("=")[2].strip("\"'") for line in lines)


def _typed(text: str) -> Scalar:
    found = units.plain(text)
    if found.lstrip("-").isdigit():
        return int(found)
    try:
        return float(found)
    except ValueError:
        return found
