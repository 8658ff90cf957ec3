"""The server's own reports as data: INFO, CLIENT LIST, ACL LIST, and what a rule may want to know of them.

Pure. Sources: Valkey manual, INFO, CLIENT LIST, ACL LIST (2024).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from dbdyno.engines.dumptext import clean
from dbdyno.engines.valkey import conffile, versions
from dbdyno.engines.valkey.names import RENAMED, RENAMED_VALKEY
from dbdyno.model.fact import Fact, Scalar
from dbdyno.model.facts import Facts

VALUE_CHARACTERS_MAX = 2_000
FIELDS_MAX = 20_000
IDLE_S = 3600.0
_FIELD = re.compile(r"([A-Za-z][\w.-]*):(.*)")
_PAIR = re.compile(r"([\w-]+)=([^,\s]*)")
_FROM_INFO = {
    "maxmemory": "maxmemory", "maxmemory_policy": "maxmemory-policy", "maxclients": "maxclients",
    "configured_hz": "hz", "repl_backlog_size": "repl-backlog-size",
}  # fmt: skip
"""Settings that INFO says too: all that is seen of them where CONFIG is refused."""
_DANGEROUS = ("keys", "monitor", "save", "debug")
"""Commands that stop or slow all others, and that no program should call in its daily work (Valkey manual, Latency, and
KEYS, MONITOR, SAVE: 2024)."""


def parse(text: str) -> dict[str, str]:
    """Fields of INFO by name. Lines that are no fields are left out."""
    found: dict[str, str] = {}
    for line in clean(text).split("\n"):
        if (match := _FIELD.fullmatch(line.strip())) and len(found) < FIELDS_MAX:
            found[match[1]] = match[2].strip()[:VALUE_CHARACTERS_MAX]
    return found


def pairs(text: str) -> dict[str, str]:
    """`keys=1,expires=0` as data."""
    return dict(_PAIR.findall(text))


def typed(text: str) -> Scalar:
    """Numbers as numbers."""
    if re.fullmatch(r"-?\d{1,18}", text):
        return int(text)
    if re.fullmatch(r"-?\d+\.\d+", text):
        return float(text)
    return text


def facts(info: Mapping[str, str], source: str = "INFO") -> Iterator[Fact]:
    """All of INFO: its fields as `status.<field>`, and what follows from them."""
    product, words = versions.product_of(info)
    if words:
        version = versions.number_of(words, valkey=product == "valkey")
        yield Fact(name="server.product", value=product, source=source)
        yield Fact(name="server.version_text", value=words, source=source)
        if version:
            yield Fact(name="server.version", value=version, source=source)
    for field, value in info.items():
        if not field.startswith(("cmdstat_", "errorstat_", "latency_percentiles_", "db")) and "_human" not in field:
            yield Fact(name=f"status.{field}", value=typed(value), source=source)
    named = {"uptime_in_seconds": "server.uptime_s", "config_file": "server.config_file"}
    for field, name in named.items():
        if field in info:
            yield Fact(name=name, value=typed(info[field]), unit="s" if name.endswith("_s") else "", source=source)
    if "role" in info:
        yield Fact(name="server.role", value="primary" if info["role"] == "master" else "replica", source=source)
    yield from _keyspace(info, source)
    yield from _replicas(info, source)
    yield from _commands(info, source)


def settings(info: Mapping[str, str]) -> dict[str, str]:
    """Settings that INFO names."""
    found = {setting: info[field] for field, setting in _FROM_INFO.items() if field in info}
    if "aof_enabled" in info:
        found["appendonly"] = "yes" if info["aof_enabled"] == "1" else "no"
    return found


def _keyspace(info: Mapping[str, str], source: str) -> Iterator[Fact]:
    if "keyspace_hits" not in info and "used_memory" not in info:
        return
    databases = [pairs(value) for field, value in info.items() if re.fullmatch(r"db\d+", field)]
    for name in ("keys", "expires"):
        total = sum(int(one[name]) for one in databases if one.get(name, "").isdigit())
        yield Fact(name=f"keyspace.{name}_count", value=total, source=source)
    yield Fact(name="keyspace.databases_count", value=len(databases), source=source)


def _replicas(info: Mapping[str, str], source: str) -> Iterator[Fact]:
    if "role" not in info:
        return
    offset = int(info["master_repl_offset"]) if info.get("master_repl_offset", "").isdigit() else 0
    found = [pairs(value) for field, value in info.items() if re.fullmatch(r"slave\d+", field)]
    behind = [offset - int(one["offset"]) for one in found if one.get("offset", "").isdigit()]
    lags = [int(one["lag"]) for one in found if one.get("lag", "").isdigit()]
    broken = sum(one.get("state") != "online" for one in found)
    yield Fact(name="replication.replicas_count", value=len(found), source=source)
    yield Fact(name="replication.not_online_count", value=broken, source=source)
    yield Fact(name="replication.behind_bytes_max", value=max(behind, default=0), unit="B", source=source)
    yield Fact(name="replication.lag_s_max", value=max(lags, default=0), unit="s", source=source)


def _commands(info: Mapping[str, str], source: str) -> Iterator[Fact]:
    """How often commands were called that stop all others for as long as they take."""
    if not any(field.startswith("cmdstat_") for field in info):
        return
    calls = {command: _number(pairs(info.get(f"cmdstat_{command}", "")), "calls") for command in _DANGEROUS}
    examples = ", ".join(f"{command} {count} times" for command, count in calls.items() if count)
    yield Fact(name="commands.dangerous_calls", value=sum(calls.values()), source=source)
    yield Fact(name="commands.dangerous_examples", value=examples, source=source)


def clients(text: str, source: str = "CLIENT LIST") -> Iterator[Fact]:
    """A summary of the clients, whose addresses are nobody's business."""
    found = [dict(word.partition("=")[::2] for word in line.split()) for line in clean(text).split("\n") if line]
    normal = [one for one in found if not set(one.get("flags", "")) & set("SMO")]
    idle = sum(_number(one, "idle") > IDLE_S for one in normal)
    yield Fact(name="clients.count", value=len(normal), source=source)
    yield Fact(name="clients.idle_count", value=idle, source=source)
    most = max((_number(one, "omem") for one in found), default=0)
    yield Fact(name="clients.output_bytes_max", value=most, unit="B", source=source)
    remote = sum(not _near(one.get("addr", "")) for one in normal)
    yield Fact(name="clients.remote_count", value=remote, source=source)


def _number(row: Mapping[str, str], field: str) -> int:
    return int(row[field]) if row.get(field, "").isdigit() else 0


def _near(address: str) -> bool:
    return address.startswith(("127.", "[::1]", "/", "::1")) or address.endswith(":0") or not address


def users(lines: Iterable[str], source: str = "ACL LIST") -> Iterator[Fact]:
    """What accounts may do, without the hashes of their passwords."""
    open_ones, mighty, default_open, default_on = [], [], False, False
    for line in lines:
        words = line.split()
        if len(words) < 3 or words[0] != "user":
            continue
        name, rules = words[1], words[2:]
        if "on" not in rules:
            continue
        if name == "default":
            default_on, default_open = True, "nopass" in rules
        elif "nopass" in rules:
            open_ones.append(name)
        if name != "default" and "+@all" in rules and not any(rule.startswith("-") for rule in rules):
            mighty.append(name)
    yield Fact(name="security.default_on", value=default_on, source=source)
    yield Fact(name="security.default_nopass", value=default_open, source=source)
    yield Fact(name="security.nopass_count", value=len(open_ones), source=source)
    yield Fact(name="security.nopass_examples", value=", ".join(open_ones[:5]), source=source)
    yield Fact(name="security.mighty_count", value=len(mighty), source=source)


def from_settings(known: Mapping[str, str], source: str) -> Iterator[Fact]:
    """What follows from settings alone: folders, and how far the server can be reached."""
    if "dir" in known:
        yield Fact(name="server.data_directory", value=known["dir"], source=source)
    if "bind" in known and "port" in known:
        # A build without encryption has no such port.
        listens = known["port"] != "0" or known.get("tls-port", "0") != "0"
        yield Fact(name="security.reachable", value=listens and reachable(known["bind"]), source=source)
    limits = conffile.limits_of(known.get("client-output-buffer-limit", ""))
    for kind, (hard, soft, _seconds) in limits.items():
        yield Fact(name=f"limits.{kind}_hard_bytes", value=hard, unit="B", source=source)
        yield Fact(name=f"limits.{kind}_soft_bytes", value=soft, unit="B", source=source)


def reachable(bind: str) -> bool:
    """Whether other machines may connect: an address that is not the machine's own loop, or all of them."""
    addresses = [one.lstrip("-") for one in bind.split()]
    return not addresses or any(not one.startswith("127.") and one not in ("::1", "localhost") for one in addresses)


def old_names(written: Iterable[str], facts: Facts, source: str) -> Iterator[Fact]:
    """Names of a configuration file that have a successor in this version."""
    version = facts.number("server.version") if facts.has("server.version") else 0
    renamed = {name: new for name, (new, since) in RENAMED.items() if versions.at_least(version, redis=since)}
    if versions.is_valkey(version):
        plain = version - versions.VALKEY
        renamed |= {name: new for name, (new, since) in RENAMED_VALKEY.items() if plain >= since}
    old = [f"{name} is {renamed[name]} now" for name in written if name in renamed]
    yield Fact(name="config.old_names_count", source=source, value=len(old))
    yield Fact(name="config.old_names_examples", source=source, value="; ".join(old[:8]))
