"""What an audit of Valkey and Redis looks at beside INFO and settings: accounts, clients, slow commands, modules, the
configuration file; and what follows from all of that.

Sources: Valkey manual, "Persistence", "Security", "Latency", ACL, INFO (2024); advisories.toml.
"""

from __future__ import annotations

import datetime
import functools
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dbdyno.engines.valkey import conffile, info, versions
from dbdyno.engines.valkey.session import Refused, ValkeySession
from dbdyno.model.fact import Fact
from dbdyno.model.facts import Facts, MissingFact

RATES = ("commands", "evicted", "expired", "replicated_bytes", "hits", "misses", "rejected", "connections")
_COUNTED = {
    "commands": "total_commands_processed", "evicted": "evicted_keys", "expired": "expired_keys",
    "replicated_bytes": "master_repl_offset", "hits": "keyspace_hits", "misses": "keyspace_misses",
    "rejected": "rejected_connections", "connections": "total_connections_received",
}  # fmt: skip
_CLIENTS = ("clients.count", "clients.idle_count", "clients.output_bytes_max", "clients.remote_count")
_CONFIG_BYTES_MAX = 1 << 20
_SECRETS = ("requirepass", "masterauth", "primaryauth", "tls-key-file-pass", "user ")
_SERVICES = (("elasticache", "elasticache"), ("memorydb", "memorydb"), ("azure", "azure"), ("upstash", "upstash"))


def read_facts(session: ValkeySession) -> Iterator[Fact]:
    """Asks all that is no setting. A question that is refused leaves its facts with that reason."""
    known = {name: one.value for name, one in session.settings().items()}
    yield Fact(name="server.settings_complete", source="CONFIG GET", value="CONFIG" not in session.refused)
    yield from session.not_seen(known)
    yield from info.from_settings(known, "CONFIG GET")
    yield from _asked(session, ("ACL", "LIST"), _users,
                      ("security.default_on", "security.default_nopass", "security.nopass_count",
                       "security.nopass_examples", "security.mighty_count"))  # fmt: skip
    yield from _asked(session, ("CLIENT", "LIST"), lambda answer: info.clients(str(answer)), _CLIENTS)
    yield from _asked(session, ("SLOWLOG", "LEN"), _one_number("slowlog.length"), ("slowlog.length",))
    yield from _asked(session, ("LATENCY", "LATEST"), _latency, ("latency.worst_ms", "latency.examples"))
    yield from _asked(session, ("MODULE", "LIST"), _modules, ("modules.count", "modules.examples"))
    yield from _asked(session, ("MEMORY", "DOCTOR"), _doctor, ("memory.doctor",))
    if known.get("cluster-enabled") == "yes":
        yield from _asked(session, ("CLUSTER", "INFO"), _cluster, ("cluster.state", "cluster.slots_ok"))


def _asked(session: ValkeySession, command: tuple[str, ...], read: Any, names: tuple[str, ...]) -> Iterator[Fact]:
    try:
        facts = list(read(session.command(*command)))
    except Refused as error:
        facts = [Fact(name=name, source=" ".join(command), unknown=error.found) for name in names]
    said = {fact.name for fact in facts}
    yield from facts
    for name in names:
        if name not in said:
            yield Fact(name=name, source=" ".join(command), unknown="the server gives no value")


def _users(answer: Any) -> Iterator[Fact]:
    return info.users(map(str, answer) if isinstance(answer, list) else ())


def _one_number(name: str) -> Any:
    def read(answer: Any) -> Iterator[Fact]:
        if isinstance(answer, int):
            yield Fact(name=name, source="SLOWLOG LEN", value=answer)

    return read


def _latency(answer: Any) -> Iterator[Fact]:
    """Events with the longest that was seen of each, in milliseconds."""
    rows = [row for row in answer if isinstance(row, list) and len(row) >= 4 and isinstance(row[3], int)]
    worst = max((int(row[3]) for row in rows), default=0)
    words = ", ".join(f"{row[0]} {row[3]} ms" for row in rows[:5])
    yield Fact(name="latency.worst_ms", source="LATENCY LATEST", unit="ms", value=worst)
    yield Fact(name="latency.examples", source="LATENCY LATEST", value=words)


def _modules(answer: Any) -> Iterator[Fact]:
    found = []
    for row in answer if isinstance(answer, list) else ():
        words = row if isinstance(row, list) else list(row)
        table = {str(name): value for name, value in zip(words[::2], words[1::2], strict=False)}
        found.append(f"{table.get('name', '?')} {table.get('ver', '')}".strip())
    yield Fact(name="modules.count", source="MODULE LIST", value=len(found))
    yield Fact(name="modules.examples", source="MODULE LIST", value=", ".join(found[:10]))


def _doctor(answer: Any) -> Iterator[Fact]:
    yield Fact(name="memory.doctor", source="MEMORY DOCTOR", value=str(answer)[:2000])


def _cluster(answer: Any) -> Iterator[Fact]:
    fields = info.parse(str(answer))
    for field, name in (("cluster_state", "cluster.state"), ("cluster_slots_ok", "cluster.slots_ok")):
        if field in fields:
            yield Fact(name=name, source="CLUSTER INFO", value=info.typed(fields[field]))


def counters(session: ValkeySession) -> dict[str, float]:
    """Numbers that only rise, for rates; empty when they are refused."""
    try:
        fields = info.parse(str(session.command("INFO", "ALL")))
    except Refused:
        return {}
    return {name: float(fields[field]) for name, field in _COUNTED.items() if fields.get(field, "").isdigit()}


def derive(facts: Facts) -> Iterator[Fact]:
    """Facts that follow from others: what the machine's rules ask, and what is known of this version."""
    yield Fact(name="server.flavour", source="INFO", value=_flavour(facts))
    yield Fact(name="server.uses_page_cache", source="all data is in memory; files are read at the start", value=False)
    yield Fact(name="server.huge_pages_wanted", source="the server never asks for them", value=False)
    yield from _optional(facts, _forks, "server.forks_for_snapshot")
    yield from _optional(facts, _connections, "server.connections_max")
    yield from _optional(facts, _files, "server.files_needed")
    yield from _optional(facts, _memory, "server.memory_planned_bytes")
    yield from _optional(facts, lambda known: known.number("setting.port"), "server.port")
    yield from _optional(facts, lambda known: known.number("status.used_memory"), "server.cache_bytes")
    yield from _per_second(facts)
    if facts.has("server.version"):
        yield from _advisories(facts)


def _optional(facts: Facts, make: Any, name: str) -> Iterator[Fact]:
    try:
        yield Fact(
            name=name, unit="B" if name.endswith("_bytes") else "", source="settings and INFO", value=make(facts)
        )
    except MissingFact as missing:
        yield Fact(name=name, source="settings and INFO", unknown=str(missing))


def _forks(facts: Facts) -> bool:
    """Snapshots, rewrites of the append-only file and new replicas are made by a child that shares the memory."""
    replicas = facts.has("replication.replicas_count") and facts.number("replication.replicas_count") > 0
    return facts.text("setting.save") != "" or facts.flag("setting.appendonly") or replicas


def _connections(facts: Facts) -> float:
    return facts.number("setting.maxclients")


def _files(facts: Facts) -> float:
    """Source: redis.conf 7.0, maxclients (2022): 32 files are kept for the server itself."""
    return facts.number("setting.maxclients") + 32


def _memory(facts: Facts) -> float:
    """What it may take: its limit, and the backlog beside it. Without a limit there is no plan."""
    limit = facts.number("setting.maxmemory")
    if limit == 0:
        raise MissingFact("setting.maxmemory", "there is no limit (maxmemory 0), so nothing is planned")
    return limit + facts.number("setting.repl-backlog-size")


def _per_second(facts: Facts) -> Iterator[Fact]:
    """Means since the start, where no two samples were taken."""
    for name, field in _COUNTED.items():
        if facts.has(f"status.{field}") and facts.has("status.uptime_in_seconds"):
            uptime = max(1.0, facts.number("status.uptime_in_seconds"))
            value = facts.number(f"status.{field}") / uptime
            yield Fact(name=f"status.{name}_per_s_mean", unit="1/s", source=f"INFO, {field}", value=value)


def _flavour(facts: Facts) -> str:
    build = " ".join(facts.text(name) for name in ("status.os", "status.executable") if facts.has(name)).lower()
    for mark, service in _SERVICES:
        if mark in build:
            return service
    return facts.text("server.product") if facts.has("server.product") else "unknown"


@functools.cache
def advisories() -> dict[str, Any]:
    with (Path(__file__).parent / "advisories.toml").open("rb") as file:
        return tomllib.load(file)


def _advisories(facts: Facts) -> Iterator[Fact]:
    version, known, source = facts.number("server.version"), advisories(), "advisories.toml"
    product = facts.text("server.product") if facts.has("server.product") else ""
    series = ".".join(versions.words(version).split(".")[:2])
    day = known["end_of_life"].get(product, {}).get(series)
    yield Fact(name="server.series", source="server.version", value=f"{product} {series}")
    if day is None:
        unknown = f"{product or 'the product'} {series} is not in our table"
        yield Fact(name="server.end_of_life_unix_s", unit="s", source=source, unknown=unknown)
    else:
        at = datetime.datetime.fromisoformat(day).replace(tzinfo=datetime.UTC).timestamp()
        yield Fact(name="server.end_of_life_unix_s", unit="s", source=source, value=at)
    faults = [
        f"{one['says']} (mended in {one['fixed']}; {one['source']})"
        for one in known["fault"]
        if one["product"] == product and _number(one["from"], product) <= version < _number(one["fixed"], product)
    ]
    yield Fact(name="server.faults_count", source=source, value=len(faults))
    yield Fact(name="server.faults_examples", source=source, value="; ".join(faults))


def _number(words: str, product: str) -> int:
    return versions.number_of(words, valkey=product == "valkey")


def read_files(root: Path, facts: Facts) -> Iterator[Fact]:
    """The configuration file: whether others can read a password in it, and whether it says what the server runs
    with."""
    names = ("security.config_secret_world_readable", "config.differs_count", "config.differs_examples",
             "config.old_names_count", "config.old_names_examples")  # fmt: skip
    if not facts.has("server.config_file") or not facts.text("server.config_file"):
        for name in names:
            yield Fact(name=name, source="files", unknown="the server was started without a configuration file")
        return
    path = facts.text("server.config_file")
    file = root / path.lstrip("/")
    try:
        mode = file.stat().st_mode
        with file.open("rb") as stream:
            text = stream.read(_CONFIG_BYTES_MAX).decode(errors="replace")
    except OSError as error:
        for name in names:
            yield Fact(name=name, source=path, unknown=error.strerror or str(error))
        return
    exposed = path if mode & 0o004 and _holds_secret(text) and _reachable(root, file) else ""
    yield Fact(name=names[0], source=path, value=exposed)
    yield from of_file(conffile.parse(text), facts, path)


def of_file(written: dict[str, str], facts: Facts, source: str) -> Iterator[Fact]:
    """What a configuration file says against what the server runs with."""
    differs = []
    for name, value in written.items():
        live = facts.find(f"setting.{name}")
        if live is None or live.unknown or live.source == source or name in ("user", "include", "loadmodule"):
            continue
        if "***" not in str(live.value) and not conffile.same(name, value, str(live.value)):
            differs.append(name)
    yield Fact(name="config.differs_count", source=source, value=len(differs))
    yield Fact(name="config.differs_examples", source=source, value=", ".join(differs[:8]))
    yield from info.old_names(written, facts, source)


def _holds_secret(text: str) -> bool:
    lines = [line.strip().lower() for line in text.splitlines()]
    return any(line.startswith(_SECRETS) and ("user" not in line[:5] or ">" in line or "#" in line) for line in lines)


def _reachable(root: Path, file: Path) -> bool:
    """Whether everybody may enter all folders above it."""
    above = [folder for folder in file.parents if folder != root and root in folder.parents]
    return all(folder.stat().st_mode & 0o001 for folder in above)
