"""Reads what people send of a Valkey or Redis server: INFO, `CONFIG GET *` as the command line or JSON prints it, the
configuration file, ACL LIST, CLIENT LIST, and the answers of our own collecting script."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from dbdyno.engines.dumptext import clean
from dbdyno.engines.valkey import conffile, info
from dbdyno.model.fact import Fact
from dbdyno.model.facts import Facts

FOLDER = "valkey/"
_CONF = re.compile(r"(?:^|/)(?:valkey|redis|keydb)[\w.-]*\.conf$")
_INFO = re.compile(r"^(?:redis_version|valkey_version|redis_mode|server_mode):\S", re.MULTILINE)
_SECTION = re.compile(r"^(?:\$\d+\n)?# (?:Server|Memory|Persistence|Replication|Stats|Clients)$", re.MULTILINE)
_NUMBERED = re.compile(r"^\s*\d+\) ?(.*)$")
_ACL = re.compile(r'^(?:\s*\d+\) ?)?"?user \S+ (?:on|off) ', re.MULTILINE)
_CLIENT = re.compile(r"^id=\d+ addr=", re.MULTILINE)
_MANY = ("maxmemory", "maxmemory-policy", "appendonly", "appendfsync", "maxclients")
"""Settings that every version has: three of them are a list of settings."""
_COMPLETE_MIN = 100
"""Redis 4.0 shows some 90 settings, later versions more."""
_QUESTIONS = {
    "info.txt": "INFO ALL", "config.txt": "CONFIG GET '*'", "acl.txt": "ACL LIST", "clients.txt": "CLIENT LIST",
    "slowlog.txt": "SLOWLOG LEN",
}  # fmt: skip


_AWK = (
    'hide { print ($0 == "" ? "" : "***"); hide = 0; next } '
    "/^(requirepass|masterauth|primaryauth|tls-(client-)?key-file-pass)$/ { hide = 1 } { print }"
)
_HIDING = {"acl.txt": "valkey_rights", "config.txt": "valkey_settings"}


def recognises(name: str, text: str) -> bool:
    """Whether a file is one of ours by its name or its first words."""
    if any(name.endswith(FOLDER + one) for one in _QUESTIONS) or _CONF.search(name):
        return True
    if _INFO.search(text) or _SECTION.search(text) or _CLIENT.search(text) or _ACL.search(text):
        return True
    return sum(setting in settings_of(text) for setting in _MANY) >= 3


def parse(name: str, text: str) -> list[Fact]:
    """The facts of one file; what cannot be read is left out."""
    if name.endswith(FOLDER + "slowlog.txt"):
        return list(_slow_log(name, text))
    if name.endswith(FOLDER + "acl.txt") or (_ACL.search(text) and not _CONF.search(name)):
        return list(info.users(_items(text), name)) if _ACL.search(text) else []
    if name.endswith(FOLDER + "clients.txt") or _CLIENT.search(text):
        return list(info.clients(text, name)) if _CLIENT.search(text) else []
    if _CONF.search(name):
        return list(_conf(name, text))
    if _INFO.search(text) or _SECTION.search(text) or name.endswith(FOLDER + "info.txt"):
        fields = info.parse(text)
        return list(info.facts(fields, name)) + list(_settings(name, info.settings(fields), complete=None))
    found = settings_of(text)
    return list(_settings(name, found, complete=len(found) >= _COMPLETE_MIN))


def settings_of(text: str) -> dict[str, str]:
    """`CONFIG GET *` in any of its shapes: numbered lines, names and values in turn, `name value` or `name=value` on
    one line, an object or a list of JSON."""
    stripped = clean(text).strip()
    if stripped.startswith(("{", "[")):
        return _of_json(stripped)
    lines = [_unquoted(line) for line in stripped.split("\n")]
    if sum(line.lower() in _MANY for line in lines[0::2]) >= 2:
        return {name.lower(): value for name, value in zip(lines[0::2], lines[1::2], strict=False) if name}
    if sum("=" in line for line in lines) > len(lines) / 2:
        return {name.strip().lower(): value.strip() for name, _, value in (line.partition("=") for line in lines)}
    return {
        name.lower(): value.strip() for name, _, value in (line.replace("\t", " ").partition(" ") for line in lines)
    }


def _of_json(text: str) -> dict[str, str]:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    if isinstance(content, list) and content and not isinstance(content[0], dict | list):
        content = dict(zip(map(str, content[::2]), content[1::2], strict=False))
    if not isinstance(content, dict):
        return {}
    return {str(name).lower(): str(value) for name, value in content.items() if isinstance(value, str | int | float)}


def _unquoted(line: str) -> str:
    """`12) "maxmemory"` as `maxmemory`."""
    match = _NUMBERED.match(line)
    word = match[1].strip() if match else line.strip()
    return word[1:-1].replace('\\"', '"').replace("\\\\", "\\") if re.fullmatch(r'".*"', word) else word


def _items(text: str) -> list[str]:
    return [_unquoted(line) for line in clean(text).split("\n") if line.strip()]


def _settings(name: str, found: dict[str, str], *, complete: bool | None) -> Iterator[Fact]:
    """Settings as facts. `complete`: whether all were seen; None: they are a part that says nothing of the rest."""
    for setting, value in found.items():
        if re.fullmatch(r"[a-z][\w-]*", setting):
            yield Fact(name=f"setting.{setting}", value=value, source=name)
    if complete is not None:
        yield Fact(name="server.settings_complete", value=complete, source=name)
        yield from info.from_settings(found, name)


def _conf(name: str, text: str) -> Iterator[Fact]:
    """What a file asks for: not all settings, and perhaps not what the server runs with."""
    written = conffile.parse(text)
    rights = [f"user {one}" for one in re.findall(r"^\s*user (.+)$", clean(text), re.MULTILINE)]
    written.pop("user", None)
    plain = {setting: conffile.plain(value) if setting != "dir" else value for setting, value in written.items()}
    yield from _settings(name, plain, complete=False)
    if rights:
        yield from info.users(rights, name)
    yield from info.old_names(written, Facts(()), name)


def _slow_log(name: str, text: str) -> Iterator[Fact]:
    word = clean(text).strip().removeprefix("(integer) ")
    if word.isdecimal():
        yield Fact(name="slowlog.length", value=int(word), source=name)


def collect_script() -> str:
    """A fragment of shell that asks everything with valkey-cli or redis-cli, which connects as its environment says:
    host, port and user in VALKEY_HOST, VALKEY_PORT, VALKEY_USER, the password in VALKEYCLI_AUTH or REDISCLI_AUTH."""
    lines = [
        "valkey_cli=$(command -v valkey-cli || command -v redis-cli)",
        'if [ -n "$valkey_cli" ]; then',
        '  valkey_ask() { timeout 10 "$valkey_cli" -h "${VALKEY_HOST:-127.0.0.1}" -p "${VALKEY_PORT:-6379}" '
        '${VALKEY_USER:+--user "$VALKEY_USER"} --no-auth-warning "$@"; }',
        # Passwords and their hashes stay where they are.
        f"  valkey_settings() {{ valkey_ask CONFIG GET '*' | awk '{_AWK}'; }}",
        "  valkey_rights() { valkey_ask ACL LIST | sed 's/#[0-9a-f]\\{64\\}//g'; }",
    ]
    for file, question in _QUESTIONS.items():
        lines.append(f"  emit {FOLDER}{file} {_HIDING.get(file, f'valkey_ask {question}')}")
    return "\n".join([*lines, "fi"])
