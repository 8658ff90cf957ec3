"""What each answer of a MongoDB server says, as facts. The same for an answer just had and for one that was saved.

Names: `setting.<option>` for options of the file and the command line (`setting.storage.dbPath`),
`setting.setParameter.<name>` for parameters, `status.<path>` for numbers of serverStatus with underscores for blanks,
`replication.…` for the replica set, `data.…` for what is stored, `server.…` for the rest.
Sources: MongoDB manual, "Database Commands" (2024).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from dbdyno.engines.dumptext import numeric_version
from dbdyno.engines.wiredtiger.printed import seconds_of
from dbdyno.model.fact import Fact, Scalar

Document = Mapping[str, Any]
STATUS_FACTS_MAX = 5_000
STATUS_DEPTH_MAX = 8
EXAMPLES_MAX = 5
_STATES = {"PRIMARY": "primary", "SECONDARY": "replica", "ARBITER": "arbiter"}
_BAD_STATES = ("RECOVERING", "DOWN", "ROLLBACK", "REMOVED", "UNKNOWN", "STARTUP", "STARTUP2", "(not reachable/healthy)")
_NOT_STATUS = ("locks", "$clusterTime", "operationTime", "lastCommittedOpTime", "$gleStats", "$configServerState")
_OF_STATUS = (("server.process", "process", ""), ("server.pid", "pid", ""), ("server.uptime_s", "uptime", "s"),
              ("server.host", "host", ""))  # fmt: skip
_LONG_OPERATION_S = 600.0
_BACKGROUND = re.compile(r"^(none|getmore|)$")


def version_number(text: str) -> int:
    """`7.0.12` is 70012; 0 when there is none."""
    parts = (*numeric_version(text), 0, 0, 0)
    return parts[0] * 10_000 + parts[1] * 100 + parts[2]


def kind_of(document: Any) -> str:
    """Which answer it is; empty when of no kind that is known."""
    if not isinstance(document, dict):
        return ""
    keys = set(document)
    return next((kind for kind, (needed, _) in _KINDS.items() if needed <= keys), "")


def parts_of(document: Any) -> dict[str, Document]:
    """The answers in a document: itself, or those that it holds under the names of their commands."""
    if kind := kind_of(document):
        return {kind: document}
    if not isinstance(document, dict):
        return {}
    return {name: inner for name, inner in document.items() if name in _KINDS and isinstance(inner, dict)}


def facts_of(kind: str, document: Document, source: str = "") -> Iterator[Fact]:
    """The facts of one answer."""
    for fact in _KINDS[kind][1](document):
        yield Fact(name=fact.name, value=fact.value, unit=fact.unit, source=source or kind, unknown=fact.unknown)


def settings_of(kind: str, document: Document) -> dict[str, str]:
    """Options or parameters by the name of their fact, without `setting.`."""
    if kind == "getCmdLineOpts":
        return dict(_flat_words(document.get("parsed", {}), ""))
    skip = {"ok", "$clusterTime", "operationTime", "lastCommittedOpTime", "$gleStats", "$configServerState"}
    own = {name: value for name, value in document.items() if name not in skip}
    return {f"setParameter.{name}": word for name, word in _flat_words(own, "")}


def _flat_words(document: Document, prefix: str, depth: int = 0) -> Iterator[tuple[str, str]]:
    for name, value in document.items():
        path = f"{prefix}.{name}" if prefix else str(name)
        if isinstance(value, dict) and depth < STATUS_DEPTH_MAX:
            yield from _flat_words(value, path, depth + 1)
        elif isinstance(value, list):
            if all(isinstance(one, str | int) for one in value):
                yield path, ",".join(str(one) for one in value)
        elif value is not None and not isinstance(value, dict):
            yield path, word(value)


def word(value: object) -> str:
    """A value as it stands in mongod.conf."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _fact(name: str, value: Scalar, unit: str = "") -> Fact:
    return Fact(name=name, value=value, unit=unit)


def _named(count: str, found: list[str]) -> Iterator[Fact]:
    yield _fact(f"{count}_count", len(found))
    yield _fact(f"{count}_examples", ", ".join(found[:EXAMPLES_MAX]))


def _server_status(document: Document) -> Iterator[Fact]:
    if version := str(document.get("version", "")):
        yield _fact("server.version", version_number(version))
        yield _fact("server.version_text", version)
    for name, key, unit in _OF_STATUS:
        if key in document:
            yield _fact(name, document[key], unit)
    engine = document.get("storageEngine")
    if isinstance(engine, dict) and "name" in engine:
        yield _fact("server.storage_engine", str(engine["name"]))
    yield _fact("server.role", _role(document))
    yield _fact("server.status_seen", True)
    numbers = _numbers({key: value for key, value in document.items() if key not in _NOT_STATUS}, "status", 0)
    for count, (name, value) in enumerate(numbers):
        if count >= STATUS_FACTS_MAX:
            break
        yield _fact(name, value)


def _role(document: Document) -> str:
    replica_set = document.get("repl")
    if document.get("process") == "mongos":
        return "router"
    if not isinstance(replica_set, dict) or "setName" not in replica_set:
        return "standalone"
    if replica_set.get("isWritablePrimary") or replica_set.get("ismaster"):
        return "primary"
    return "arbiter" if replica_set.get("arbiterOnly") else "replica"


def _numbers(document: Document, prefix: str, depth: int) -> Iterator[tuple[str, Scalar]]:
    for key, value in document.items():
        name = f"{prefix}.{_key(str(key))}"
        if isinstance(value, dict) and depth < STATUS_DEPTH_MAX:
            yield from _numbers(value, name, depth + 1)
        elif isinstance(value, bool | int | float):
            yield name, value


def _key(text: str) -> str:
    return re.sub(r"[^\w$-]+", "_", text).strip("_")


def _options(document: Document) -> Iterator[Fact]:
    for name, value in settings_of("getCmdLineOpts", document).items():
        yield _fact(f"setting.{name}", value)
    parsed = document.get("parsed", {})
    yield _fact("server.options_seen", True)
    yield _fact("server.config_file", str(parsed.get("config", "")) or None)
    if isinstance(storage := parsed.get("storage", {}), dict):
        yield _fact("server.data_directory", str(storage.get("dbPath", "/data/db")))


def _parameters(document: Document) -> Iterator[Fact]:
    for name, value in settings_of("getParameter", document).items():
        yield _fact(f"setting.{name}", value)
    yield _fact("server.parameters_seen", True)
    compatible = document.get("featureCompatibilityVersion")
    compatible = compatible.get("version") if isinstance(compatible, dict) else compatible
    if isinstance(compatible, str):
        yield _fact("server.feature_version", version_number(compatible))


def _build(document: Document) -> Iterator[Fact]:
    version = str(document.get("version", ""))
    yield _fact("server.version", version_number(version))
    yield _fact("server.version_text", version)
    yield _fact("server.modules", ",".join(map(str, document.get("modules", ()))))
    yield _fact("server.percona", "psmdbVersion" in document)
    yield _fact("server.imitation", "ferretdb" in document or "ferretdbVersion" in document)


def _host(document: Document) -> Iterator[Fact]:
    system = document.get("system", {})
    if isinstance(system, dict):
        for name, key, factor in (("server.host_memory_bytes", "memSizeMB", 1 << 20), ("server.host_limit_bytes",
                                  "memLimitMB", 1 << 20), ("server.host_cores", "numCores", 1)):  # fmt: skip
            if isinstance(value := system.get(key), int | float):
                yield _fact(name, int(value) * factor)


def _replica_status(document: Document) -> Iterator[Fact]:
    members = [one for one in document.get("members", ()) if isinstance(one, dict)]
    yield _fact("server.role", _own_role(members, document))
    yield _fact("replication.set", str(document.get("set", "")))
    ill = [
        f"{one.get('name')} is {one.get('stateStr')}"
        for one in members
        if one.get("health", 1) in (0, False) or str(one.get("stateStr")) in _BAD_STATES
    ]
    yield from _named("replication.ill", ill)
    primary = next((one for one in members if one.get("stateStr") == "PRIMARY"), None)
    yield _fact("replication.has_primary", primary is not None)
    lags = _lags(members, primary)
    worst = max(lags, key=lambda name: lags[name], default="")
    unknown = "" if primary else "the replica set has no primary to compare with"
    yield Fact(name="replication.lag_s_max", unit="s", value=lags.get(worst, 0.0), unknown=unknown)
    yield Fact(name="replication.lag_member", value=worst, unknown=unknown)
    leader = str(primary.get("name")) if primary else ""
    chained = [
        str(one.get("name"))
        for one in members
        if one.get("stateStr") == "SECONDARY"
        and (source := str(one.get("syncSourceHost") or one.get("syncingTo") or leader))
        and source != leader
    ]
    yield from _named("replication.chained", chained)


def _own_role(members: list[dict[str, Any]], document: Document) -> str:
    own = next((str(one.get("stateStr")) for one in members if one.get("self")), "")
    return _STATES.get(own, "primary" if document.get("myState") == 1 else "replica")


def _lags(members: list[dict[str, Any]], primary: dict[str, Any] | None) -> dict[str, float]:
    """Seconds that each secondary is behind the primary."""
    if primary is None or (at := seconds_of(primary.get("optimeDate"))) is None:
        return {}
    return {
        str(one.get("name")): max(0.0, at - applied)
        for one in members
        if one.get("stateStr") == "SECONDARY" and (applied := seconds_of(one.get("optimeDate"))) is not None
    }


def _replica_config(document: Document) -> Iterator[Fact]:
    config = document.get("config", document)
    members = [one for one in config.get("members", ()) if isinstance(one, dict)]
    voting = [one for one in members if one.get("votes", 1)]
    yield _fact("replication.members_count", len(members))
    yield _fact("replication.voting_count", len(voting))
    yield _fact("replication.arbiters_count", sum(bool(one.get("arbiterOnly")) for one in members))
    yield _fact("replication.data_voting_count", sum(not one.get("arbiterOnly") for one in voting))
    delayed = [str(one.get("host")) for one in voting if one.get("secondaryDelaySecs", one.get("slaveDelay", 0))]
    yield from _named("replication.delayed_voting", delayed)
    default = config.get("writeConcernMajorityJournalDefault", True)
    yield _fact("setting.writeConcernMajorityJournalDefault", word(default))
    settings = config.get("settings", {})
    if isinstance(settings, dict):
        yield _fact("replication.chaining_allowed", bool(settings.get("chainingAllowed", True)))
        yield _fact("replication.election_timeout_ms", settings.get("electionTimeoutMillis", 10_000))
        old = settings.get("getLastErrorDefaults", {})
        if isinstance(old, dict) and old:
            yield _fact("replication.old_default_concern", _concern(old))


def _default_concern(document: Document) -> Iterator[Fact]:
    concern = document.get("defaultWriteConcern")
    yield _fact("server.default_concern_seen", True)
    if isinstance(concern, dict) and concern:
        yield _fact("setting.defaultWriteConcern", _concern(concern))
        yield _fact("server.default_concern_source", str(document.get("defaultWriteConcernSource", "")))


def _concern(concern: Document) -> str:
    """`majority`, `1`, `1,j`, `0`; `,j:false` where journaling was refused in so many words."""
    text = word(concern.get("w", 1))
    if "j" in concern and concern["j"] is not None:
        text += ",j" if concern["j"] else ",j:false"
    return text


def _log(document: Document) -> Iterator[Fact]:
    lines = [str(one) for one in document.get("log", ()) if str(one).strip("* \t")]
    yield _fact("server.startup_warnings_count", len(lines))
    said = [re.sub(r'^.*"msg":"((?:[^"\\]|\\.)*)".*$', r"\1", line)[:160] for line in lines]
    yield _fact("server.startup_warnings_examples", "; ".join(said[:EXAMPLES_MAX]))


def _profile(document: Document) -> Iterator[Fact]:
    """Of one database, or of all: `databases` by name."""
    each = document.get("databases") or {"": document}
    levels = {name: one.get("was", 0) for name, one in each.items() if isinstance(one, dict)}
    yield from _named(
        "server.profiled_databases", [name or "this database" for name, was in levels.items() if was == 2]
    )
    slow = [one["slowms"] for one in each.values() if isinstance(one, dict) and "slowms" in one]
    if slow:
        yield _fact("server.slowms", slow[0], "ms")


def _oplog(document: Document) -> Iterator[Fact]:
    hours = document.get("timeDiffHours", document.get("timeDiff", 0) / 3600)
    yield _fact("replication.oplog_window_s", float(hours) * 3600, "s")
    size = document.get("logSizeMB")
    if isinstance(size, int | float):
        yield _fact("replication.oplog_bytes", int(size * (1 << 20)), "B")


def _operations(document: Document) -> Iterator[Fact]:
    active = [one for one in document.get("inprog", ()) if isinstance(one, dict) and one.get("active", True)]
    yield _fact("server.operations_active", len(active))
    own = [one for one in active if not _BACKGROUND.match(str(one.get("op", ""))) and one.get("ns")]
    long = [one for one in own if _seconds_running(one) > _LONG_OPERATION_S]
    yield from _named("server.operations_long", [f"{one.get('op')} on {one.get('ns')}" for one in long])
    yield _fact("server.operations_waiting", sum(bool(one.get("waitingForLock")) for one in active))


def _seconds_running(operation: Document) -> float:
    value = operation.get("secs_running", 0)
    return float(value) if isinstance(value, int | float) else 0.0


def _collections(document: Document) -> Iterator[Fact]:
    """Answers of collStats, by namespace."""
    total = free = size = 0.0
    wasteful, plain = [], []
    for name, one in document.get("collections", {}).items():
        if not isinstance(one, dict):
            continue
        stored = float(one.get("storageSize", 0))
        engine = one.get("wiredTiger", {})
        reusable = float(one.get("freeStorageSize", engine.get("block-manager", {}).get(
            "file bytes available for reuse", 0)))  # fmt: skip
        total, free, size = total + stored, free + reusable, size + float(one.get("size", 0))
        if stored >= 1 << 30 and reusable / stored > 0.3:
            wasteful.append(f"{name} ({reusable / 2**30:.1f} of {stored / 2**30:.1f} GiB)")
        if "block_compressor=," in str(engine.get("creationString", "")) and stored >= 1 << 30:
            plain.append(name)
    yield _fact("data.storage_bytes", int(total), "B")
    yield _fact("data.reusable_bytes", int(free), "B")
    yield _fact("server.cluster_bytes", int(size), "B")
    yield from _named("data.fragmented", wasteful)
    yield from _named("data.uncompressed", plain)


def _indexes(document: Document) -> Iterator[Fact]:
    """Answers of $indexStats, by namespace: indexes that nothing has used."""
    unused = [
        f"{space}.{index}"
        for space, uses in document.get("indexes", {}).items()
        if isinstance(uses, dict)
        for index, count in uses.items()
        if not count and index != "_id_"
    ]
    yield from _named("data.unused_indexes", unused)
    most = max(((len(uses), space) for space, uses in document.get("indexes", {}).items()), default=(0, ""))
    yield _fact("data.indexes_most_count", most[0])
    yield _fact("data.indexes_most_collection", most[1])


_KINDS: dict[str, tuple[set[str], Callable[[Document], Iterator[Fact]]]] = {
    "serverStatus": ({"connections", "uptime", "host"}, _server_status),
    "getCmdLineOpts": ({"argv", "parsed"}, _options),
    "replSetGetStatus": ({"members", "myState", "set"}, _replica_status),
    "getDefaultRWConcern": ({"defaultReadConcern", "ok"}, _default_concern),
    "getLog": ({"totalLinesWritten", "log"}, _log),
    "hostInfo": ({"system", "os"}, _host),
    "buildInfo": ({"gitVersion", "version"}, _build),
    "profile": ({"was", "slowms"}, _profile),
    "replicationInfo": ({"logSizeMB", "timeDiff"}, _oplog),
    "currentOp": ({"inprog"}, _operations),
    "collStats": ({"collections"}, _collections),
    "indexStats": ({"indexes"}, _indexes),
    "replSetGetConfig": ({"config", "ok"}, _replica_config),
    "replicaConfig": ({"members", "_id", "version"}, _replica_config),
    "getParameter": ({"authenticationMechanisms", "logLevel"}, _parameters),
}
"""Keys by which an answer is known, and its reader. `profile`, `collStats` and `indexStats` also hold many at once."""
