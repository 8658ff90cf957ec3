"""Reads what people send of a MongoDB server: answers of its commands as JSON or as the shells print them, mongod.conf,
summaries in the style of pt-mongodb-summary, and the answers of our own collecting script."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from dbdyno.engines.dumptext import clean, number
from dbdyno.engines.wiredtiger import conffile, documents, printed
from dbdyno.model.fact import Fact

FOLDER = "mongodb/"
_CONF = re.compile(r"(?:^|/)mongod[\w.-]*\.(?:conf|cfg|ya?ml)$")
_CONF_KEYS = {"storage", "net", "systemLog", "replication", "processManagement", "security", "sharding",
              "operationProfiling", "setParameter"}  # fmt: skip
_OURS = re.compile(r"(?:^|/)mongodb/\w+\.json$")
_SUMMARY = re.compile(r"^# Mongo Executable|^# Report On \d|^# This host$|^# Instances #", re.MULTILINE)
_WORDS = re.compile(r"wiredTiger|opcounters|\"?\bargv\"?\s*:|replSet|defaultReadConcern|authenticationMechanisms|"
                    r"\"?\bmyState\"?\s*:|gitVersion|totalLinesWritten|\"?inprog\"?\s*:|logSizeMB")  # fmt: skip
_SUMMARY_LINE = re.compile(r"^\s*([A-Za-z][\w /-]*?)\s*\|\s*(.*?)\s*$", re.MULTILINE)
_SUMMARY_SECURITY = re.compile(r"^(Auth|Port|Bind IP)\s*[:|]?\s+(\S.*?)\s*$", re.MULTILINE)
_COMMANDS = (
    ("serverStatus", "db.serverStatus()"),
    ("getCmdLineOpts", "db.adminCommand({getCmdLineOpts: 1})"),
    ("getParameter", "db.adminCommand({getParameter: '*'})"),
    ("buildInfo", "db.adminCommand({buildInfo: 1})"),
    ("hostInfo", "db.adminCommand({hostInfo: 1})"),
    ("replSetGetStatus", "db.adminCommand({replSetGetStatus: 1})"),
    ("replSetGetConfig", "db.adminCommand({replSetGetConfig: 1})"),
    ("getDefaultRWConcern", "db.adminCommand({getDefaultRWConcern: 1})"),
    ("getLog", "db.adminCommand({getLog: 'startupWarnings'})"),
    ("replicationInfo", "db.getReplicationInfo()"),
)
_PRINT = "print(typeof EJSON === 'undefined' ? JSON.stringify(d) : EJSON.stringify(d))"


def recognises(name: str, text: str) -> bool:
    """Whether a file is one of ours by its name or by its first words."""
    if _OURS.search(name) or _CONF.search(name):
        return True
    if _SUMMARY.search(text) and "mongo" in text.lower():
        return True
    if "{" in text[:4096] and _WORDS.search(text):
        return True
    names = {line.partition(":")[0] for line in text.splitlines() if line[:1].isalpha() and ":" in line}
    return len(names & _CONF_KEYS) >= 2 and not names - _CONF_KEYS - {"auditLog", "cloud", "snmp"}


def parse(name: str, text: str) -> list[Fact]:
    """The facts of one file. Raises `ValueError` when it is of no form that can be read."""
    cleaned = clean(text)
    if _CONF.search(name) or (not _OURS.search(name) and "{" not in cleaned[:4096] and not _SUMMARY.search(cleaned)):
        return list(_conf(name, cleaned))
    if _SUMMARY.search(cleaned) and "|" in cleaned:
        return list(_summary(name, cleaned))
    document = printed.document(cleaned)
    parts = documents.parts_of(document)
    if not parts and isinstance(document, dict) and document.get("ok") in (0, 0.0) and "errmsg" in document:
        return []
    if not parts:
        raise ValueError("it is no answer of a command that is known here")
    return [fact for kind, part in parts.items() for fact in documents.facts_of(kind, part, name)]


def _conf(name: str, text: str) -> Iterator[Fact]:
    """What a file asks for: perhaps not what the server runs with."""
    options = conffile.options(text)
    for option, value in options.items():
        yield Fact(name=f"setting.{option}", value=value, source=name)
    yield Fact(name="server.options_seen", value=True, source=name)
    yield Fact(name="server.file_only", value=True, source=name)
    yield Fact(name="server.config_text", value=text, source=name)
    if "storage.dbPath" in options:
        yield Fact(name="server.data_directory", value=options["storage.dbPath"], source=name)


def _summary(name: str, text: str) -> Iterator[Fact]:
    """`Name | value` lines under headings."""
    found = _SUMMARY_LINE.findall(text) + _SUMMARY_SECURITY.findall(text)
    lines = {key.strip().lower(): value for key, value in found}
    if version := lines.get("version", ""):
        yield Fact(name="server.version", value=documents.version_number(version), source=name)
        yield Fact(name="server.version_text", value=version, source=name)
    for key, fact in (("pid owner", "server.user"), ("hostname", "server.host"), ("data dir", "server.data_directory"),
                      ("datadir", "server.data_directory")):  # fmt: skip
        if lines.get(key):
            yield Fact(name=fact, value=lines[key], source=name)
    if (port := number(lines.get("port", ""))) is not None:
        yield Fact(name="setting.net.port", value=str(int(port)), source=name)
    if "auth" in lines:
        on = lines["auth"].lower().startswith(("enabled", "true", "yes"))
        yield Fact(name="setting.security.authorization", value="enabled" if on else "disabled", source=name)
        yield Fact(name="setting.security.keyFile", value="", source=name)
    if "bind ip" in lines:
        yield Fact(name="setting.net.bindIp", value=lines["bind ip"], source=name)
        yield Fact(name="setting.net.bindIpAll", value="false", source=name)
    if replica_set := lines.get("replset", lines.get("replset name", "")):
        yield Fact(name="setting.replication.replSetName", value=replica_set, source=name)


def collect_script() -> str:
    """A fragment of shell that asks with mongosh, or the older mongo, at the place that MONGODB_URI says."""
    lines = [
        "DYNO_MONGO=''; for one in mongosh mongo; do",
        '  if [ -z "$DYNO_MONGO" ] && command -v "$one" >/dev/null 2>&1; then DYNO_MONGO=$one; fi',
        "done",
        'if [ -n "$DYNO_MONGO" ]; then',
    ]
    for kind, command in _COMMANDS:
        code = f"var d = {command}; {_PRINT}"
        lines.append(f'  emit {FOLDER}{kind}.json "$DYNO_MONGO" --quiet ${{MONGODB_URI:-}} --eval {shlex.quote(code)}')
    return "\n".join([*lines, "fi"])
