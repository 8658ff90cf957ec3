"""`dyno check` on real MariaDB and MySQL: what is planted is found, nothing else new is; a plain server is nearly
silent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from sandbox_tools import temporary_home

from dbdyno.check import fixes
from dbdyno.check.apply import apply, undo
from dbdyno.check.apply_live import Machine
from dbdyno.check.apply_server import TargetServer
from dbdyno.check.audit import Options, audit, audit_dump
from dbdyno.check.collect import write_dump
from dbdyno.check.host import HostAt
from dbdyno.check.result import Checked
from dbdyno.cli.common import SystemClock
from dbdyno.engines._mysql.session import MySQLSession
from dbdyno.engines.registry import engine_named
from dbdyno.model.finding import Severity, Verdict
from dbdyno.model.knob import Level
from dbdyno.model.target import Secret
from dbdyno.sandbox.options import SandboxOptions
from dbdyno.sandbox.sandbox import Sandbox, create
from dbdyno.sandbox.targets import Resolved

NO_HOST = HostAt(label="")
FAMILY = ("MY", "INNO")


@dataclass(frozen=True)
class Case:
    """A server, what a plain one is told, and what is planted: settings by the rule that finds them."""

    scheme: str
    stock: frozenset[str]
    planted: dict[str, dict[str, str | int]]
    version: str | None = None
    level: Level = Level.L3


ACCOUNT = "MY062"
"""The sandbox's own account may come from everywhere, over a socket that is its own."""
MARIA_STOCK = frozenset({ACCOUNT, "MY010", "MY040", "MY042", "MY063"})
"""Advice beside the account: no binary log, no slow log, no performance_schema, local files allowed."""
BOTH: dict[str, dict[str, str | int]] = {
    "INNO001": {"innodb_flush_log_at_trx_commit": 2},
    "INNO002": {"innodb_doublewrite": "OFF"},
    "INNO021": {"innodb_io_capacity": 20_000, "innodb_io_capacity_max": 40_000},
    "INNO023": {"innodb_max_dirty_pages_pct": 1},
    "INNO024": {"innodb_adaptive_flushing": "OFF"},
    "INNO026": {"innodb_use_native_aio": "OFF"},
    "INNO032": {"innodb_deadlock_detect": "OFF"},
    "INNO036": {"innodb_file_per_table": "OFF"},
    "INNO038": {"innodb_stats_on_metadata": "ON"},
    "INNO039": {"innodb_buffer_pool_dump_at_shutdown": "OFF"},
    "MY026": {"sort_buffer_size": 64 << 20},
    "MY041": {"general_log": "ON"},
    "MY043": {"sql_mode": "NO_ENGINE_SUBSTITUTION"},
    "MY044": {"wait_timeout": 2_000_000},
}
BINLOG: dict[str, str | int] = {"log_bin": "ON", "server_id": 7}
MARIADB_ONLY: dict[str, dict[str, str | int]] = {
    "MY011": {**BINLOG, "sync_binlog": 0},
    "MY012": {"binlog_format": "STATEMENT"},
    "MY013": {"expire_logs_days": 0},
    "MY014": {"binlog_checksum": "NONE"},
    "MY021": {"tmp_table_size": 256 << 20},
    "MY025": {"query_cache_type": "ON", "query_cache_size": 64 << 20},
    "MY032": {"slave_exec_mode": "IDEMPOTENT"},
}
MYSQL_ONLY: dict[str, dict[str, str | int]] = {
    "INNO033": {"innodb_thread_concurrency": 4},
    "MY011": {"sync_binlog": 0},
    "MY012": {"binlog_format": "STATEMENT"},
    "MY013": {"binlog_expire_logs_seconds": 0},
    "MY014": {"binlog_checksum": "NONE"},
    "MY015": {"binlog_error_action": "IGNORE_ERROR"},
    "MY032": {"slave_exec_mode": "IDEMPOTENT"},
    "MY042": {"performance_schema": "OFF"},
    "MY063": {"local_infile": "ON"},
}
TABLES = {
    "MY050": ("CREATE TABLE planted.nameless (a INT) ENGINE=InnoDB",),
    "MY051": ("CREATE TABLE planted.old (a INT PRIMARY KEY) ENGINE=MyISAM",),
    "MY052": ("CREATE TABLE planted.twice (a INT PRIMARY KEY, b INT, c INT, KEY one (b), KEY two (b, c))",),
    "MY053": ("CREATE TABLE planted.wide (a VARCHAR(64) CHARACTER SET utf8mb4 PRIMARY KEY, b INT, KEY one (b))",),
    "MY054": ("CREATE TABLE planted.full (a TINYINT AUTO_INCREMENT PRIMARY KEY) AUTO_INCREMENT=120",),
    "MY060": ("CREATE USER ''@'planted.example' IDENTIFIED BY 'x'",),
    "MY061": ("CREATE USER 'open'@'planted.example' IDENTIFIED BY ''",),
}
CASES = {
    "mariadb": Case("mariadb", MARIA_STOCK, {**BOTH, **MARIADB_ONLY}),
    "mariadb-11.4": Case(
        "mariadb", MARIA_STOCK, {**BOTH, **MARIADB_ONLY}, version="11.4"
    ),
    "mysql-8": Case("mysql", frozenset({ACCOUNT, "MY001", "MY040"}), {**BOTH, **MYSQL_ONLY}),
    # Its default of the recovery of the log is what rule MYR006 is about.
    "rocksdb": Case("mariadb+rocksdb", MARIA_STOCK | {"MYR006"}, {
        "MYR001": {"rocksdb_flush_log_at_trx_commit": 2},
        "MYR003": {"rocksdb_rate_limiter_bytes_per_sec": 1 << 20},
        "INNO001": {"innodb_flush_log_at_trx_commit": 0},
    }, level=Level.L1),
}  # fmt: skip


@pytest.fixture(scope="module", params=list(CASES))
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


@pytest.fixture(scope="module")
def server(case: Case, clock: SystemClock) -> Iterator[Sandbox]:
    engine = engine_named(case.scheme)
    found = engine.recipe().installations()
    if not any(case.version is None or one.version_text.startswith(case.version) for one in found):
        pytest.skip(f"no {case.scheme} {case.version or ''} is installed")
    with temporary_home(clock) as home:
        box = create(home, engine, "check", SandboxOptions(version=case.version or ""), clock=clock)
        box.start({})
        yield box
        box.stop("immediate")


def look(box: Sandbox, clock: SystemClock, secret: Secret | None = None, **more: object) -> Checked:
    """With time enough for a busy machine."""
    options = Options(clock=clock, config=Path("/nonexistent"), token="T" + "0" * 32, timeout_s=120.0, **more)  # type: ignore[arg-type]
    return audit(box.target, secret or box.secret, box.engine, NO_HOST, options)


def run(box: Sandbox, *statements: str) -> None:
    session = box.engine.connect(box.target, box.secret)
    assert isinstance(session, MySQLSession)
    try:
        for statement in statements:
            session.run(statement, "prepare a test")
    finally:
        session.close()


def found(checked: Checked) -> dict[str, Severity]:
    return {one.rule: one.severity for one in checked.of(Verdict.FAIL) if one.rule.startswith(FAMILY)}


def test_1_a_plain_server_hears_only_advice(server: Sandbox, case: Case, clock: SystemClock) -> None:
    checked = look(server, clock)
    assert set(found(checked)) == case.stock
    assert Severity.CRITICAL not in found(checked).values()
    assert checked.level is case.level
    assert {one.source for one in checked.problems} == {"host"}, "only the machine was left out"
    unseen = {one.rule: one.says for one in checked.of(Verdict.UNKNOWN) if one.rule.startswith(FAMILY)}
    about_the_machine = {name for name, says in unseen.items() if "host." in says or "server.memory" in says
                         or "--seconds" in says or "security.config" in says}  # fmt: skip
    assert set(unseen) == about_the_machine, unseen


def test_2_what_is_planted_is_found_and_nothing_else(server: Sandbox, case: Case, clock: SystemClock) -> None:
    server.stop()
    server.start({name: value for one in case.planted.values() for name, value in one.items()})
    told = found(look(server, clock))
    without = {"MY010"} if any("log_bin" in one for one in case.planted.values()) else set()
    assert set(told) == (case.stock - without) | set(case.planted)
    server.stop()
    server.start({})


def test_3_advice_converges(server: Sandbox, case: Case, clock: SystemClock) -> None:
    """All settings that are advised, by their own statements and by a restart for the others; then taken back."""
    before = look(server, clock)
    fixes = [fix for one in before.of(Verdict.FAIL) for fix in one.fixes if fix.kind == "setting"]
    assert fixes
    server.stop()
    server.start({fix.name: fix.value for fix in fixes})
    after = look(server, clock)
    mended = {one.rule for one in before.of(Verdict.FAIL) if any(fix.kind == "setting" for fix in one.fixes)}
    assert not mended & set(found(after)), "advice that was taken is given again"
    assert set(found(after)) <= set(found(before)), "taking one advice brought another"
    server.stop()
    server.start({})
    live = [fix for fix in fixes if fix.live and fix.needs == "nothing"]
    run(server, *(part for fix in live for part in fix.live.split("; ")))
    assert not {fix.name for fix in live} & {
        fix.name for one in look(server, clock).of(Verdict.FAIL) for fix in one.fixes if fix.kind == "setting"
    }
    run(server, *(part for fix in live for part in fix.undo.split("; ")))
    assert set(found(look(server, clock))) == set(found(before))


def test_4_tables_and_accounts(server: Sandbox, case: Case, clock: SystemClock) -> None:
    plain = set(found(look(server, clock)))
    run(server, "CREATE DATABASE planted", *(one for statements in TABLES.values() for one in statements))
    wanted = set(TABLES)
    checked = look(server, clock)
    assert set(found(checked)) == plain | wanted
    says = {one.rule: one.says for one in checked.of(Verdict.FAIL)}
    assert "planted.nameless" in says["MY050"]
    assert "planted.twice.one (two has it)" in says["MY052"]
    assert "planted.full (94 %)" in says["MY054"]
    run(server, "DROP DATABASE planted", "DROP USER ''@'planted.example'", "DROP USER 'open'@'planted.example'")
    assert set(found(look(server, clock))) == plain


def test_4_a_replica_that_does_not_run(server: Sandbox, case: Case, clock: SystemClock) -> None:
    plain = set(found(look(server, clock)))
    run(server, "CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT=1, MASTER_USER='x'")
    wanted = {"MY030", "MY031"} | ({"MY033"} if case.scheme == "mysql" else set())
    assert set(found(look(server, clock))) == plain | wanted
    run(server, "RESET SLAVE ALL")
    assert set(found(look(server, clock))) == plain


def test_5_an_unprivileged_user_sees_less_and_is_told(server: Sandbox, clock: SystemClock) -> None:
    run(server, "CREATE USER 'nobody'@'%' IDENTIFIED BY 'harmless'")
    target = server.target
    poor = type(target)(**{**{name: getattr(target, name) for name in target.__struct_fields__}, "user": "nobody",
                           "database": ""})  # fmt: skip
    options = Options(clock=clock, config=Path("/nonexistent"), token="T0", timeout_s=120.0)
    checked = audit(poor, Secret("harmless"), server.engine, NO_HOST, options)
    unknown = {one.rule: one.says for one in checked.of(Verdict.UNKNOWN)}
    assert {"MY050", "MY051", "MY052", "MY054", "MY060", "MY061", "MY062", "INNO031"} <= set(unknown)
    assert "SELECT" in unknown["MY050"]
    passed = {one.rule for one in checked.of(Verdict.PASS)}
    assert {"INNO001", "INNO002"} <= passed, "settings are seen by everybody"
    run(server, "DROP USER 'nobody'@'%'")


def test_6_a_dump_says_the_same(server: Sandbox, case: Case, clock: SystemClock, tmp_path: Path) -> None:
    live = look(server, clock)
    out = write_dump(tmp_path / "dump.tar.gz", live, None)
    options = Options(clock=clock, config=Path("/nonexistent"), token="T0")
    again = audit_dump(out, options)
    assert again.engine == live.engine
    assert [(one.rule, one.verdict) for one in again.findings] == [(one.rule, one.verdict) for one in live.findings]


def test_7_the_texts_of_the_client_say_the_same(server: Sandbox, clock: SystemClock, tmp_path: Path) -> None:
    """SHOW VARIABLES and SHOW STATUS, written down as the client prints them."""
    live = look(server, clock)
    session = server.engine.connect(server.target, server.secret)
    assert isinstance(session, MySQLSession)
    for name in ("variables", "status"):
        rows = session.run(f"SHOW GLOBAL {name.upper()}", "read")
        lines = ["Variable_name\tValue", *(f"{key}\t{value}" for key, value in rows)]
        (tmp_path / f"{name}.txt").write_text("\r\n".join(lines) + "\r\n")
    session.close()
    again = audit_dump(tmp_path, Options(clock=clock, config=Path("/nonexistent"), token="T0"))
    assert not again.problems
    failed = set(found(live)) - {ACCOUNT}
    assert failed <= set(found(again))
    passed = {one.rule for one in again.of(Verdict.PASS)}
    assert {"INNO001", "INNO002", "INNO023", "MY022"} - set(found(again)) <= passed
    assert ACCOUNT in {one.rule for one in again.of(Verdict.UNKNOWN)}, "accounts are not seen in a dump"


def test_8_fixes_of_somebodys_server_are_done_and_undone(server: Sandbox, clock: SystemClock, tmp_path: Path) -> None:
    """Through its own session: what only its file changes is left out and said, the rest is in force and goes back."""
    run(server, "SET GLOBAL slow_query_log = OFF", "SET GLOBAL local_infile = ON")
    hand = TargetServer(Resolved(server.target, server.secret, server.engine), clock)
    folder = tmp_path / "fixes"
    fixes.write(folder, look(server, clock))
    plan = fixes.read_plan(folder)
    assert {"slow_query_log", "local_infile"} <= set(plan.settings)
    before, _ = hand.found(list(plan.settings))
    outcome = apply(plan, folder, Machine(tmp_path), server=hand, recheck=None, stamp="1")
    now, kept = hand.found(list(plan.settings))
    assert {"slow_query_log", "local_infile"} <= {name for name in now if now[name] != before[name]}
    assert all(any(name in words for words in outcome.left_out) for name in plan.only_in_file)
    assert {"slow_query_log"} <= set(kept) or any("until its next restart" in words for words in outcome.left_out)
    assert undo(folder, Machine(tmp_path), server=hand) == []
    assert hand.found(list(plan.settings)) == (before, {})
