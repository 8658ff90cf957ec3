"""Reads what people send of a server of the family: SHOW VARIABLES and SHOW STATUS in any form that a client prints,
option files, the version, summaries in the style of pt-mysql-summary, and the answers of our own collecting script.

What is a setting and what is a counter is told by the file's name or by a few names that only one of them has.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from dbdyno.engines._mysql import units, versions
from dbdyno.engines._mysql.questions import QUESTIONS, REPLICA_COLUMNS
from dbdyno.engines.dumptext import clean, is_cloud, number, numeric_version, pairs
from dbdyno.model.fact import Fact, Scalar

FOLDER = "mysql/"
_REPLICA = FOLDER + "replica.txt"
_ANSWER = re.compile(r"(?:^|/)mysql/question_([a-z0-9_]+?)_([0-9]+)\.txt$")
_CONF = re.compile(r"(?:^|/)[\w.-]*\.cnf$|(?:^|/)my\.ini$")
_SERVER_SECTION = re.compile(r"\[(mysqld|server|mariadbd?|galera)([-_.\d]*)\]", re.IGNORECASE)
_SECTION = re.compile(r"\s*\[[\w.-]+\]\s*")
_NAME = re.compile(r"[a-z][a-z0-9_.]*", re.IGNORECASE)
_BANNER = re.compile(
    r"\s*(?:(?:@@)?version(?:\(\))?\s*[-|+\s]*)?(?:\S*(?:mysqld|mariadbd)\S*\s+Ver\s+)?\d+\.\d+\.\d+\S*"
    r"(?:-log|-mariadb|mysql|aurora|rds|azure|percona|-\d+)", re.IGNORECASE)  # fmt: skip
_SUMMARY = re.compile(r"^#+ *(Percona Toolkit )?MySQL (Summary )?Report", re.MULTILINE)
_SUMMARY_LINE = re.compile(r"\s*([A-Za-z][\w .]*?)\s*\|\s*(.+?)\s*$")
_VARIABLES = frozenset({"innodb_buffer_pool_size", "max_connections", "datadir", "version_comment", "sync_binlog",
                        "innodb_flush_log_at_trx_commit", "sql_mode", "basedir", "back_log"})  # fmt: skip
_COUNTERS = frozenset({"threads_connected", "uptime", "questions", "aborted_clients", "com_select", "bytes_received",
                       "innodb_buffer_pool_pages_total", "max_used_connections"})  # fmt: skip
_COUNTER = re.compile(
    r"(com|handler|created|opened|open|threads|bytes|aborted|select|sort|ssl|table_locks|table_open_cache_[hmo]"
    r"|wsrep_(local|cluster_[cs]|flow|cert_[dib]|last|received|replicated|ready|connected|incoming|evs|apply|commit)"
    r"|innodb_(buffer_pool_(pages|read|wait|write|bytes)|data_[prw]|dblwr|log_wait|log_write|os_log|pages_|row_lock|rows_"
    r"|history|adaptive_hash_(hash|non)|checkpoint|lsn|available)|key_(blocks|read|write)|qcache|queries|uptime)(_|[a-z]|$)"
)
_NO_COUNTER = frozenset(
    {"open_files_limit", "sort_buffer_size", "ssl_ca", "ssl_cert", "ssl_key", "ssl_cipher", "ssl_capath", "ssl_crl",
     "ssl_crlpath", "ssl_fips_mode", "innodb_log_write_ahead_size"}
)  # fmt: skip
_ALL_SETTINGS_MIN = 350
"""MySQL 5.7 shows about 500, MariaDB 10.11 about 600 and more; fewer are an excerpt."""
_SECRET = re.compile(r"password|secret|_auth$|wsrep_sst_auth|report_pass", re.IGNORECASE)
_VALUE_CHARACTERS_MAX = 16_384
_SWITCHES = {"skip_log_bin": ("log_bin", "OFF"), "disable_log_bin": ("log_bin", "OFF"),
             "skip_networking": ("skip_networking", "ON"), "skip_name_resolve": ("skip_name_resolve", "ON"),
             "skip_innodb_doublewrite": ("innodb_doublewrite", "OFF"), "slow_query_log": ("slow_query_log", "ON"),
             "skip_external_locking": ("skip_external_locking", "ON")}  # fmt: skip
_SUMMARY_NAMES = {
    "version": "version", "buffer pool size": "innodb_buffer_pool_size", "log file size": "innodb_log_file_size",
    "flush method": "innodb_flush_method", "flush log at commit": "innodb_flush_log_at_trx_commit",
    "doublewrite": "innodb_doublewrite", "checksums": "innodb_checksums", "io capacity": "innodb_io_capacity",
    "thread concurrency": "innodb_thread_concurrency", "log buffer size": "innodb_log_buffer_size",
    "sync_binlog": "sync_binlog", "binlog_format": "binlog_format", "expire_logs_days": "expire_logs_days",
    "query_cache_type": "query_cache_type", "sql_mode": "sql_mode", "datadir": "datadir",
    "xa support": "innodb_support_xa", "file per table": "innodb_file_per_table",
}  # fmt: skip
"""What a summary calls its figures. Source: pt-mysql-summary's report (Percona Toolkit 3, 2023)."""


def recognises(name: str, text: str) -> bool:
    """Whether a file is one of ours by its name, its header, or the names in it."""
    if _ANSWER.search(name) or _CONF.search(name) or (FOLDER in name and name.endswith(".txt")):
        return True
    head = clean(text)
    if _SUMMARY.search(head) or _BANNER.match(head) or "Variable_name" in head[:2000]:
        return True
    lines = head.split("\n")
    if any(_SERVER_SECTION.match(line.strip()) for line in lines[:2000]):
        return True
    found = {name.lower() for name in pairs(head)}
    return len(found & (_VARIABLES | _COUNTERS)) >= 2


def parse(name: str, text: str) -> list[Fact]:
    """The facts of one file; what cannot be read is left out."""
    cleaned = clean(text)
    if match := _ANSWER.search(name):
        return list(_answer(match[1], int(match[2]), cleaned))
    if name.endswith(_REPLICA):
        return list(_replica(cleaned, name))
    if _SUMMARY.search(cleaned):
        return list(_summary(name, cleaned))
    has_table = "Variable_name" in cleaned[:2000] or "\t" in cleaned[:2000] or "|" in cleaned[:2000]
    section = any(_SERVER_SECTION.match(line.strip()) for line in cleaned.split("\n"))
    if _CONF.search(name) or (section and not has_table):
        return list(_conf(name, cleaned))
    if _BANNER.match(cleaned) and not has_table:
        return list(_version(cleaned.strip().split("\n")[-1], name))
    return list(_shown(name, cleaned))


def _shown(name: str, text: str) -> Iterator[Fact]:
    """SHOW VARIABLES, SHOW STATUS, or both one after the other, which some send in one file."""
    found = {key.lower(): value[:_VALUE_CHARACTERS_MAX] for key, value in pairs(text).items() if _NAME.fullmatch(key)}
    settings = {key: value for key, value in found.items() if not _is_counter(key, found, name)}
    for key, value in found.items():
        if key not in settings:
            yield Fact(name=f"status.{key}", value=_typed(value), source=name)
            if key == "uptime":
                yield Fact(name="server.uptime_s", unit="s", value=_typed(value), source=name)
            if key == "threads_connected":
                yield Fact(name="server.connections", value=_typed(value), source=name)
    if settings:
        yield from _settings(name, settings)


def _is_counter(key: str, found: dict[str, str], name: str) -> bool:
    """Counters begin with capitals in the server's own words, but not after every tool; names that both have are
    settings where a whole list of settings is seen."""
    counters, settings = len(_COUNTERS & found.keys()), len(_VARIABLES & found.keys())
    if not settings:
        return counters > 0 or "status" in name.lower()
    if not counters:
        return False
    return key in _COUNTERS or (bool(_COUNTER.match(key)) and key not in _NO_COUNTER)


def _settings(name: str, found: dict[str, str]) -> Iterator[Fact]:
    for key, value in found.items():
        if not _SECRET.search(key) or value.isdigit() or value.upper() in ("ON", "OFF"):
            yield Fact(name=f"setting.{key}", value=units.plain(value), source=name)
    complete = len(found) >= _ALL_SETTINGS_MIN and "datadir" in found and "innodb_buffer_pool_size" in found
    yield Fact(name="server.settings_complete", value=complete, source=name)
    if found.get("datadir"):
        yield Fact(name="server.data_directory", value=found["datadir"], source=name)
    if found.get("version"):
        yield from _version(found["version"] + " " + found.get("version_comment", ""), name)


def _version(words: str, source: str) -> Iterator[Fact]:
    parsed = versions.parse(words)
    if parsed is None and len(parts := numeric_version(words)) >= 2:
        parsed = versions.parse(f"{parts[0]}.{parts[1]}.0 {words}")
    if parsed is None:
        return
    yield Fact(name="server.version", value=parsed[0], source=source)
    yield Fact(name="server.version_text", value=words.strip(" |")[:200], source=source)
    yield Fact(name="server.managed", value=is_cloud(words), source=source)


def _conf(name: str, text: str) -> Iterator[Fact]:
    """What an option file asks for: not all settings, and perhaps not what the server runs with."""
    ours = not any(_SECTION.fullmatch(line) for line in text.split("\n"))
    for line in text.split("\n"):
        stripped = line.strip()
        if _SECTION.fullmatch(line):
            ours = bool(_SERVER_SECTION.match(stripped))
            continue
        if not ours or not stripped or stripped[0] in "#;!":
            continue
        key, equals, value = stripped.partition("=")
        key = key.strip().lower().replace("-", "_").removeprefix("loose_")
        value = value.strip()
        value = value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else value.split(" #")[0]
        if not _NAME.fullmatch(key) or _SECRET.search(key):
            continue
        if not equals or key in ("log_bin",):
            key, value = _SWITCHES.get(key, (key, "ON"))
        yield Fact(name=f"setting.{key}", value=_in_base(value.strip()), source=name)
        if key == "datadir":
            yield Fact(name="server.data_directory", value=value, source=name)
    yield Fact(name="server.settings_complete", value=False, source=name)


def _summary(name: str, text: str) -> Iterator[Fact]:
    """The lines `Name | value` of a summary; its figures are rounded, as the tool prints them."""
    for line in text.split("\n"):
        match = _SUMMARY_LINE.match(line)
        if match is None:
            continue
        key, value = match[1].strip().lower(), match[2]
        if key == "version":
            yield from _version(value, name)
        elif key in _SUMMARY_NAMES:
            yield Fact(name=f"setting.{_SUMMARY_NAMES[key]}", value=_in_base(value.partition(" ")[0]), source=name)
    yield Fact(name="server.settings_complete", value=False, source=name)


def _answer(question: str, version_min: int, text: str) -> Iterator[Fact]:
    """One row of an answer of the script. An empty file is a question that was refused, or not of this version."""
    rows = [line.split("\t") for line in text.split("\n") if line]
    for one in QUESTIONS:
        if (one.name, one.version_min) == (question, version_min) and rows and len(rows[-1]) == len(one.columns):
            for column, value in zip(one.columns, rows[-1], strict=True):
                unknown = "the server gives no value" if value == "NULL" else ""
                yield Fact(name=column, value=_typed(value), source=f"question {question}", unknown=unknown)


def _replica(text: str, name: str) -> Iterator[Fact]:
    """Whom the server follows, and a last word without which the question was refused."""
    rows = [line.split("\t") for line in text.split("\n") if line]
    if not rows or rows[-1] != ["done"]:
        yield Fact(name="server.role", source=name, unknown="the state of a replica was refused")
        return
    header, body = ([column.lower() for column in rows[0]], rows[1]) if len(rows) > 2 else ([], [])
    yield Fact(name="server.role", source=name, value="replica" if header else "primary")
    known = dict(zip(header, body, strict=False))
    for fact, columns in REPLICA_COLUMNS.items():
        for column in columns:
            if column in known:
                missing = "the server gives no value" if known[column] == "NULL" else ""
                yield Fact(name=fact, source=name, value=_typed(known[column]), unknown=missing)


def collect_script() -> str:
    """A fragment of shell that asks with the server's own client, which connects as its option files say."""
    lines = ["for client in mariadb mysql; do if command -v $client >/dev/null 2>&1; then"]
    ask = "$client --batch --connect-timeout=5 -e"
    for name in ("variables", "status"):
        lines.append(f"  emit {FOLDER}{name}.txt {ask} 'SHOW GLOBAL {name.upper()}'")
    # The first that this server knows: named connections, the newer word, the older one.
    lines.append("  for question in 'ALL SLAVES' REPLICA SLAVE; do")
    lines.append(f'    {ask} "SHOW $question STATUS" >/dev/null 2>&1 && break; done')
    lines.append(f"  emit {_REPLICA} {ask} \"SHOW $question STATUS; SELECT 'done' AS done\"")
    # A user who may not read all tables would be shown fewer, and not be told.
    lines.append("  if $client --batch -e 'SHOW GRANTS' 2>/dev/null | grep -q 'ALL PRIVILEGES ON \\*\\.\\*'; then")
    for one in QUESTIONS:
        query = "SET SESSION group_concat_max_len = 1048576; " + one.query
        lines.append(f"  emit {FOLDER}question_{one.name}_{one.version_min}.txt {ask} {shlex.quote(query)}")
    return "\n".join([*lines, "  fi; break; fi; done"])


def _typed(text: str) -> Scalar:
    numeric = number(text) if re.fullmatch(r"[-+]?[\d.,]+", text.strip()) else None
    return text if numeric is None else int(numeric) if numeric.is_integer() else numeric


def _in_base(text: str) -> str:
    """`128M` as bytes; a text that is no quantity stays."""
    value = units.number(text) if re.fullmatch(r"[\d.]+[kmgtKMGT](i?b)?", text, re.IGNORECASE) else None
    return text if value is None else str(int(value))
