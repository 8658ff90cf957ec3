"""What an audit of PostgreSQL looks at beside settings: statistics, schema, replication, security, configuration files.

Sources: PostgreSQL 15 and 18 manuals, chapters "The Cumulative Statistics System" and "System Catalogs" (2022, 2025).
"""

from __future__ import annotations

import datetime
import functools
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from dbdyno.engines.postgresql.memory import planned_bytes
from dbdyno.engines.postgresql.questions import ANSWERED_WITHIN_S, QUESTIONS, Question
from dbdyno.model.engine import Session
from dbdyno.model.errors import TargetError
from dbdyno.model.fact import Fact, Scalar
from dbdyno.model.facts import Facts
from dbdyno.model.probe import Probe

RATES = ("wal_bytes", "temp_bytes", "transactions")
_COUNTERS = Probe(
    name="audit_counters",
    title="What two samples of an audit compare",
    columns=(),
    query="""SELECT pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()
    ELSE pg_current_wal_lsn() END, '0/0') AS wal_bytes, sum(temp_bytes) AS temp_bytes,
    sum(xact_commit + xact_rollback) AS transactions FROM pg_stat_database""",
)
_CLOUDS = (("rds.extensions", "rds"), ("apg_plan_mgmt.capture_plan_baselines", "aurora"), ("azure.extensions", "azure"),
           ("cloudsql.enable_pgaudit", "cloudsql"), ("alloydb.enable_pgaudit", "alloydb"))  # fmt: skip
"""Settings that only one managed service has."""
_CONFIG_BYTES_MAX = 1 << 20


def read_facts(session: Session) -> Iterator[Fact]:
    """Asks all questions that fit the version. A question that is refused leaves its facts with that reason."""
    for question in QUESTIONS:
        if question.version_min <= session.version < question.version_below:
            yield from _asked(session, question)


def _asked(session: Session, question: Question) -> Iterator[Fact]:
    source = f"question {question.name}"
    # The columns get names of their own: two without one would be taken for the same.
    names = ", ".join(f"c{number}" for number in range(len(question.columns)))
    query = f"SELECT * FROM ({question.query}) AS answer({names})"
    probe = Probe(name=f"audit_{question.name}", title=question.name, columns=(), query=query,
                  privilege=question.privilege, timeout_s=ANSWERED_WITHIN_S)  # fmt: skip
    try:
        rows = session.ask(probe)
    except TargetError as error:
        for name in question.columns:
            yield Fact(name=name, source=source, unknown=error.found or error.what)
        return
    values: Iterable[Scalar] = rows[0].values() if rows else [None] * len(question.columns)
    for name, value in zip(question.columns, values, strict=True):
        unknown = "the server gives no value" if value is None else ""
        yield Fact(name=name, source=source, value=value, unit="s" if name.endswith("_s") else "", unknown=unknown)


def counters(session: Session) -> dict[str, float]:
    """Numbers that only rise, for rates; empty when they are refused."""
    try:
        rows = session.ask(_COUNTERS)
    except TargetError:
        return {}
    return {name: float(value) for name, value in rows[0].items() if isinstance(value, int | float)}


def derive(facts: Facts) -> Iterator[Fact]:
    """Facts that follow from others: the flavour, the planned memory, what is known of this version."""
    yield Fact(name="server.flavour", source="settings", value=_flavour(facts))
    yield Fact(name="server.uses_page_cache", source="PostgreSQL 15 manual, 20.4 (2022)", value=True)
    yield Fact(name="server.forks_for_snapshot", source="PostgreSQL never forks for one", value=False)
    yield Fact(name="server.prefers_filesystem", source="no preference is published", value="ext4 xfs")
    yield from _advisories(facts)
    yield from _deprecated(facts)
    connections = facts.number("setting.max_connections")
    cache = facts.number("setting.shared_buffers") * 8192
    yield Fact(name="server.connections_max", source="max_connections", value=connections)
    yield Fact(name="server.cache_bytes", unit="B", source="shared_buffers", value=cache)
    wanted = facts.text("setting.huge_pages") == "on" or cache >= 8 * 2**30
    yield Fact(name="server.huge_pages_wanted", source="huge_pages, shared_buffers", value=wanted)
    # The limit of open files is one of each process, and each connection is a process.
    yield Fact(name="server.files_needed", source="max_files_per_process",
               value=facts.number("setting.max_files_per_process") + 64)  # fmt: skip
    yield Fact(name="server.port", source="port", value=facts.number("setting.port"))
    yield Fact(name="server.memory_planned_bytes", unit="B", source="the sum of rule PG021", value=planned_bytes(facts))


def _flavour(facts: Facts) -> str:
    for setting, name in _CLOUDS:
        if facts.has(f"setting.{setting}"):
            return name
    return "postgresql"


@functools.cache
def advisories() -> dict[str, Any]:
    with (Path(__file__).parent / "advisories.toml").open("rb") as file:
        return tomllib.load(file)


def _advisories(facts: Facts) -> Iterator[Fact]:
    version = facts.number("server.version")
    major = int(version // 10000)
    minor = int(version % 10000) if major >= 10 else int(version % 100)
    known, source = advisories(), "advisories.toml"
    end = known["end_of_life"].get(str(major))
    if end is None:
        unknown = f"version {major} is not in our table"
        yield Fact(name="server.end_of_life_unix_s", unit="s", source=source, unknown=unknown)
    else:
        at = datetime.datetime.fromisoformat(end["day"]).replace(tzinfo=datetime.UTC).timestamp()
        yield Fact(name="server.end_of_life_unix_s", unit="s", source=end["source"], value=at)
    yield Fact(name="server.minor", source="server.version", value=minor)
    yield Fact(name="server.minor_known", source=source, value=int(known["minor"].get(str(major), minor)))
    faults = [
        f"{one['says']} (mended in {major}.{one['minor_fixed']}; {one['source']}): {one['todo']}"
        for one in known["fault"]
        if one["major"] == major and one["minor_min"] <= minor < one["minor_fixed"]
    ]
    yield Fact(name="server.faults_count", source=source, value=len(faults))
    yield Fact(name="server.faults_examples", source=source, value="; ".join(faults))


def _deprecated(facts: Facts) -> Iterator[Fact]:
    """Settings that somebody chose and that a later version does not have."""
    if not any(fact.name.startswith("setting.") for fact in facts):
        return
    found = []
    for row in advisories()["setting"]:
        fact = facts.find(f"setting.{row['name']}")
        if fact is not None and not fact.unknown and fact.source not in ("default", "", "override"):
            found.append(f"{row['name']} is gone in {row['gone']}, instead: {row['instead']}")
    yield Fact(name="server.deprecated_count", source="advisories.toml", value=len(found))
    yield Fact(name="server.deprecated_examples", source="advisories.toml", value="; ".join(found))


def read_files(root: Path, facts: Facts) -> Iterator[Fact]:
    """Whether somebody else on the machine can read passwords in the configuration, or the data."""
    name = "security.config_secret_world_readable"
    found = []
    for fact_name in ("server.config_file", "setting.config_file"):
        if facts.has(fact_name):
            config = Path(facts.text(fact_name))
            found += [config, config.with_name("postgresql.auto.conf")]
            break
    if facts.has("server.data_directory"):
        found.append(Path(facts.text("server.data_directory")) / "postgresql.auto.conf")
    if not found:
        yield Fact(name=name, source="files", unknown="the server does not tell where its configuration is")
        return
    exposed = []
    for path in dict.fromkeys(found):
        file = root / str(path).lstrip("/")
        try:
            if file.stat().st_mode & 0o004 and _reachable(root, file) and _holds_secret(file):
                exposed.append(str(path))
        except FileNotFoundError:
            continue
        except OSError as error:
            yield Fact(name=name, source=str(path), unknown=error.strerror or str(error))
            return
    yield Fact(name=name, source=", ".join(map(str, found)), value=", ".join(exposed))


def _reachable(root: Path, file: Path) -> bool:
    """Whether everybody may enter all folders above it."""
    above = [folder for folder in file.parents if folder != root and root in folder.parents]
    return all(folder.stat().st_mode & 0o001 for folder in above)


def _holds_secret(file: Path) -> bool:
    with file.open("rb") as stream:
        text = stream.read(_CONFIG_BYTES_MAX).decode(errors="replace").lower()
    lines = [line.partition("#")[0] for line in text.splitlines()]
    return any("password=" in line.replace(" ", "") and "conninfo" in line for line in lines)
