"""What an audit of MongoDB looks at: answers of commands that read, each within a time limit.

The role `clusterMonitor` (with `read` on `local`) is enough; without it, what is refused is unknown.
"""

from __future__ import annotations

import contextlib
import datetime
import functools
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dbdyno.engines.wiredtiger import conffile, documents
from dbdyno.engines.wiredtiger.options import default_options, deprecated_options
from dbdyno.engines.wiredtiger.session import MongoSession
from dbdyno.model.engine import Inspection
from dbdyno.model.errors import TargetError
from dbdyno.model.fact import Fact
from dbdyno.model.facts import Facts

DATABASES_MAX = 20
COLLECTIONS_MAX = 200
"""Most that are looked at one by one; when there are more, what is said about all of them is unknown."""
RATES = ("documents_written", "documents_read", "journal_bytes", "application_evictions")
_RATE_PATHS = {
    "documents_written": ("metrics", "document", "inserted"),
    "documents_read": ("metrics", "document", "returned"),
    "journal_bytes": ("wiredTiger", "log", "log bytes written"),
    "application_evictions": ("wiredTiger", "cache", "pages evicted by application threads"),
}
_CONFIG_BYTES_MAX = 1 << 20
_CONFIG_FILES = ("/etc/mongod.conf", "/etc/mongodb.conf")
_SECRETS = ("password", "pemkeypassword", "clusterpassword", "querypassword")
_OF_COLLECTIONS = ("data.storage_bytes", "data.reusable_bytes", "server.cluster_bytes", "data.fragmented_count",
                   "data.fragmented_examples", "data.uncompressed_count", "data.uncompressed_examples",
                   "data.unused_indexes_count", "data.unused_indexes_examples", "data.indexes_most_count",
                   "data.indexes_most_collection")  # fmt: skip
_OF_PROFILES = ("server.profiled_databases_count", "server.profiled_databases_examples")
_SYSTEM = ("admin", "local", "config")


def read_facts(session: Inspection) -> Iterator[Fact]:
    """Asks all that there is. What is refused leaves its facts with that reason."""
    assert isinstance(session, MongoSession), "the engine's own session"
    yield from _answered(session, "buildInfo", ("server.modules",), timeout=False)
    status = list(_answered(session, "serverStatus", ("server.status_seen", "server.role", "server.storage_engine")))
    yield from status
    yield from _answered(session, "getCmdLineOpts", ("server.options_seen", "server.data_directory"), timeout=False)
    yield from _answered(session, "getParameter", ("server.parameters_seen",), argument="*")
    yield from _answered(session, "hostInfo", ("server.host_memory_bytes",), timeout=False)
    yield from _answered(session, "getDefaultRWConcern", ("server.default_concern_seen",))
    yield from _answered(session, "getLog", ("server.startup_warnings_count", "server.startup_warnings_examples"),
                         argument="startupWarnings", timeout=False)  # fmt: skip
    yield from _answered(session, "currentOp", ("server.operations_active", "server.operations_long_count",
                         "server.operations_long_examples", "server.operations_waiting"))  # fmt: skip
    in_set = any(fact.name == "server.role" and fact.value in ("primary", "replica", "arbiter") for fact in status)
    if in_set:
        yield from _answered(session, "replSetGetStatus", ("replication.ill_count", "replication.ill_examples",
                             "replication.lag_s_max", "replication.lag_member", "replication.has_primary",
                             "replication.chained_count", "replication.chained_examples"))  # fmt: skip
        yield from _answered(session, "replSetGetConfig", ("replication.voting_count", "replication.arbiters_count",
                             "setting.writeConcernMajorityJournalDefault"))  # fmt: skip
        yield from _oplog(session)
    yield from _stored(session)


def _answered(session: MongoSession, command: str, names: tuple[str, ...], *, argument: object = 1,
              timeout: bool = True) -> Iterator[Fact]:  # fmt: skip
    """The facts of one answer; refused: those of `names` with the server's words."""
    try:
        answer = session.run(command, argument, timeout=timeout)
    except TargetError as error:
        if "cannot be reached" in error.what:
            raise
        for name in names:
            yield Fact(name=name, source=command, unknown=error.found or error.what)
        return
    yield from documents.facts_of(command, answer)


def _oplog(session: MongoSession) -> Iterator[Fact]:
    """Time between the oldest and the newest entry."""
    name = "replication.oplog_window_s"
    try:
        ends = [
            session.run("find", "oplog.rs", database="local", sort={"$natural": order}, limit=1, projection={"ts": 1})
            for order in (1, -1)
        ]
        first, last = (float(one["cursor"]["firstBatch"][0]["ts"]) for one in ends)
    except TargetError as error:
        yield Fact(name=name, unit="s", source="local.oplog.rs", unknown=error.found or error.what)
    except (KeyError, IndexError, TypeError, ValueError):
        yield Fact(name=name, unit="s", source="local.oplog.rs", unknown="the log of operations is empty")
    else:
        yield Fact(name=name, unit="s", source="local.oplog.rs", value=last - first)


def _stored(session: MongoSession) -> Iterator[Fact]:
    """Collections, indexes and profilers, of a bounded number of databases."""
    try:
        listed = session.run("listDatabases", nameOnly=True)
        databases = [str(one["name"]) for one in listed.get("databases", ()) if one.get("name") not in _SYSTEM]
        if len(databases) > DATABASES_MAX:
            raise TargetError("too many", found=f"more than {DATABASES_MAX} databases: they were not seen one by one")
    except TargetError as error:
        for name in (*_OF_COLLECTIONS, *_OF_PROFILES):
            yield Fact(name=name, source="listDatabases", unknown=error.found or error.what)
        return
    for names, ask in ((_OF_PROFILES, _profiles), (_OF_COLLECTIONS, _collections)):
        try:
            answers = ask(session, databases)
        except TargetError as error:
            for name in names:
                yield Fact(name=name, source="each database", unknown=error.found or error.what)
            continue
        for kind, answer in answers.items():
            yield from documents.facts_of(kind, answer)


def _profiles(session: MongoSession, databases: list[str]) -> dict[str, dict[str, Any]]:
    return {"profile": {"databases": {name: session.run("profile", -1, database=name) for name in databases}}}


def _collections(session: MongoSession, databases: list[str]) -> dict[str, dict[str, Any]]:
    collections: dict[str, Any] = {}
    indexes: dict[str, Any] = {}
    for database in databases:
        listed = session.run("listCollections", database=database, nameOnly=True)["cursor"]["firstBatch"]
        for one in listed:
            if one.get("type", "collection") != "collection" or str(one["name"]).startswith("system."):
                continue
            if len(collections) >= COLLECTIONS_MAX:
                raise TargetError("too many", found=f"more than {COLLECTIONS_MAX} collections: they were not all seen")
            space = f"{database}.{one['name']}"
            collections[space] = session.run("collStats", one["name"], database=database)
            used = session.run("aggregate", one["name"], database=database, cursor={}, pipeline=[{"$indexStats": {}}])
            indexes[space] = {index["name"]: index["accesses"]["ops"] for index in used["cursor"]["firstBatch"]}
    return {"collStats": {"collections": collections}, "indexStats": {"indexes": indexes}}


def counters(session: Inspection) -> dict[str, float]:
    """Numbers that only rise, for rates; empty when they are refused."""
    assert isinstance(session, MongoSession), "the engine's own session"
    try:
        answer = session.run("serverStatus")
    except TargetError:
        return {}
    found = {}
    for name, path in _RATE_PATHS.items():
        value: Any = answer
        for part in path:
            value = value.get(part) if isinstance(value, dict) else None
        if isinstance(value, int | float):
            found[name] = float(value)
    return found


def derive(facts: Facts) -> Iterator[Fact]:
    """Facts that follow from others: defaults, what other rules ask of every server, what is known of the version."""
    yield Fact(name="server.flavour", source="buildInfo", value=_flavour(facts))
    yield Fact(name="server.forks_for_snapshot", source="it never forks for one", value=False)
    yield Fact(name="server.uses_page_cache", value=True,
               source="MongoDB Tuning Anti-Patterns (Percona, 2021)")  # fmt: skip
    yield Fact(name="server.prefers_filesystem", value="xfs",
               source="Tuning Linux for MongoDB (Percona, 2016); MongoDB manual, Production Notes (2024)")  # fmt: skip
    yield Fact(name="server.huge_pages_wanted", source="it asks for no explicit huge pages", value=False)
    if facts.has("server.version"):
        yield Fact(name="server.transparent_huge_pages_wanted", value=facts.number("server.version") >= 80_000,
                   source="MongoDB manual, TCMalloc Performance Optimization (2024)")  # fmt: skip
    yield from _completed(facts)
    yield from _sizes(facts)
    yield from _of_version(facts)


def _completed(facts: Facts) -> Iterator[Fact]:
    """Options that nobody set have their documented defaults, where all options that were set are known."""
    if not facts.has("server.options_seen") or _flavour(facts) == "imitation":
        return
    version = int(facts.number("server.version")) if facts.has("server.version") else 0
    for name, value in default_options(version).items():
        if not facts.has(f"setting.{name}"):
            yield Fact(name=f"setting.{name}", source="default", value=value)
    standalone = facts.has("server.role") and facts.text("server.role") == "standalone"
    concern = facts.has("setting.defaultWriteConcern")
    if not concern and (implied := _implied_concern(facts, version, standalone=standalone)):
        yield Fact(name="setting.defaultWriteConcern", source="the version's default", value=implied)
        concern = True
    if standalone and not facts.has("setting.writeConcernMajorityJournalDefault"):
        yield Fact(name="setting.writeConcernMajorityJournalDefault", source="default", value="true")
    config = standalone or facts.has("setting.writeConcernMajorityJournalDefault")
    complete = not facts.has("server.file_only") and bool(concern and config)
    yield Fact(name="server.settings_complete", source="options, replica set, default concern", value=complete)
    found = deprecated_options(facts, version)
    yield Fact(name="server.deprecated_count", source="advisories.toml", value=len(found))
    yield Fact(name="server.deprecated_examples", source="advisories.toml", value="; ".join(found))


def _implied_concern(facts: Facts, version: int, *, standalone: bool) -> str:
    """What the server waits for when nobody says it; empty when that cannot be told.

    Since 5.0 the majority, unless arbiters leave no more data-bearing voters than a majority needs; `1` before.
    Source: MongoDB manual, "Write Concern", section Implicit Default Write Concern (2024).
    """
    if not version:
        return ""
    if version < 50000 or standalone:
        return facts.text("replication.old_default_concern") if facts.has("replication.old_default_concern") else "1"
    if not facts.has("replication.voting_count"):
        return ""
    voting, bearing = facts.number("replication.voting_count"), facts.number("replication.data_voting_count")
    arbiters = facts.number("replication.arbiters_count")
    return "1" if arbiters and bearing <= voting // 2 + 1 else "majority"


def _sizes(facts: Facts) -> Iterator[Fact]:
    connections = _connections(facts)
    if connections is not None:
        yield Fact(name="server.connections_max", source="connections.current + available", value=connections)
        # One file for each connection; those of collections and indexes are not bounded: the manual asks for 64000.
        yield Fact(name="server.files_needed", source="MongoDB manual, UNIX ulimit Settings (2024)",
                   value=max(64_000, connections))  # fmt: skip
    if facts.has("setting.net.port"):
        yield Fact(name="server.port", source="net.port", value=facts.number("setting.net.port"))
    maximum = "status.wiredTiger.cache.maximum_bytes_configured"
    if facts.has(maximum):
        cache = facts.number(maximum)
        yield Fact(name="server.cache_bytes", unit="B", source="serverStatus", value=cache)
        current = facts.number("status.connections.current") if facts.has("status.connections.current") else 0
        # A connection has a stack of at most 1 MiB (MongoDB manual, Production Notes, 2024).
        yield Fact(name="server.memory_planned_bytes", unit="B", source="cache + 1 MiB a connection",
                   value=cache + current * (1 << 20))  # fmt: skip
    if not facts.has("server.memory_limit_bytes") and facts.has("server.host_memory_bytes"):
        sizes = [facts.number(name) for name in ("server.host_memory_bytes", "server.host_limit_bytes")
                 if facts.has(name) and facts.number(name)]  # fmt: skip
        yield Fact(name="server.memory_limit_bytes", unit="B", source="hostInfo", value=min(sizes))


def _connections(facts: Facts) -> float | None:
    names = ("status.connections.current", "status.connections.available")
    if all(facts.has(name) for name in names):
        return sum(facts.number(name) for name in names)
    return None


def _flavour(facts: Facts) -> str:
    if facts.has("server.imitation") and facts.flag("server.imitation"):
        return "imitation"
    if facts.has("server.percona") and facts.flag("server.percona"):
        return "percona"
    version = facts.text("server.version_text") if facts.has("server.version_text") else ""
    return "percona" if version.count("-") and "percona" in version else "mongodb"


@functools.cache
def advisories() -> dict[str, Any]:
    with (Path(__file__).parent / "advisories.toml").open("rb") as file:
        return tomllib.load(file)


def _of_version(facts: Facts) -> Iterator[Fact]:
    if not facts.has("server.version"):
        return
    version = int(facts.number("server.version"))
    series = f"{version // 10_000}.{version % 10_000 // 100}"
    known, source = advisories(), "advisories.toml"
    day = known["end_of_life"].get(series)
    at = datetime.datetime.fromisoformat(day).replace(tzinfo=datetime.UTC).timestamp() if day else None
    unknown = "" if day else f"series {series} is not in our table"
    yield Fact(name="server.series", source="server.version", value=series)
    yield Fact(name="server.end_of_life_unix_s", unit="s", source=source, value=at, unknown=unknown)
    faults = [
        f"{one['says']} (mended in {one['mended']}; {one['source']}): {one['todo']}"
        for one in known["fault"]
        if one["version_min"] <= version < one["version_fixed"]
    ]
    yield Fact(name="server.faults_count", source=source, value=len(faults))
    yield Fact(name="server.faults_examples", source=source, value="; ".join(faults))


def read_files(root: Path, facts: Facts) -> Iterator[Fact]:
    """Whether somebody else on the machine can read passwords in the configuration, or the key of the cluster."""
    name = "security.config_secret_world_readable"
    config = facts.text("server.config_file") if facts.has("server.config_file") else ""
    key = facts.text("setting.security.keyFile") if facts.has("setting.security.keyFile") else ""
    looked = [path for path in (config, *_CONFIG_FILES) if path and path != "None"]
    exposed = []
    with contextlib.suppress(OSError):
        if config and (root / config.lstrip("/")).stat().st_size <= _CONFIG_BYTES_MAX:
            text = (root / config.lstrip("/")).read_text(encoding="utf-8", errors="replace")
            yield Fact(name="server.config_text", source=config, value=text)
    try:
        for path in dict.fromkeys(looked):
            file = root / path.lstrip("/")
            if file.is_file() and file.stat().st_mode & 0o004 and _holds_secret(file):
                exposed.append(path)
        if key and (file := root / key.lstrip("/")).is_file() and file.stat().st_mode & 0o077:
            exposed.append(key)
    except OSError as error:
        yield Fact(name=name, source=", ".join(looked), unknown=error.strerror or str(error))
        return
    yield Fact(name=name, source=", ".join([*looked, key]).rstrip(", "), value=", ".join(exposed))


def _holds_secret(file: Path) -> bool:
    with file.open("rb") as stream:
        text = stream.read(_CONFIG_BYTES_MAX).decode(errors="replace")
    return any(name.rpartition(".")[2].lower() in _SECRETS and value for name, value in conffile.options(text).items())
