"""`dyno check` on real PostgreSQL: what is planted is found, nothing else new is; a plain server is nearly silent."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from sandbox_tools import ask, temporary_home

from dbdyno.check.audit import Options, audit, audit_dump
from dbdyno.check.collect import write_dump
from dbdyno.check.host import HostAt
from dbdyno.check.result import Checked
from dbdyno.cli.common import SystemClock
from dbdyno.cli.main import main
from dbdyno.model.engine import Engine
from dbdyno.model.finding import Severity, Verdict
from dbdyno.model.knob import Level
from dbdyno.model.record import to_json
from dbdyno.model.target import Secret
from dbdyno.sandbox.options import SandboxOptions
from dbdyno.sandbox.sandbox import Sandbox, create

NO_HOST = HostAt(label="")
LOCAL = HostAt(label="local", root=Path("/"))
STOCK = {"PG009", "PG022", "PG072", "PG080", "PG083", "PG084"}
"""What a plain server is told, all of it advice: no archive, too small a guess of the cache, no time-out of idle
transactions, little logging, no statistics of statements, no times of reads."""
PLANTED = {
    "PG001": "fsync = off",
    "PG002": "full_page_writes = off",
    "PG003": "synchronous_commit = off",
    "PG006": "zero_damaged_pages = on",
    "PG032": "checkpoint_completion_target = 0.2",
    "PG034": "checkpoint_timeout = '30s'",
    "PG042": "enable_seqscan = off",
    "PG043": "default_statistics_target = 10",
    "PG050": "autovacuum = off",
    "PG056": "autovacuum_vacuum_cost_delay = '50ms'",
    "PG063": "synchronous_standby_names = 'nobody'",
    "PG071": "max_connections = 2000",
    "PG073": "superuser_reserved_connections = 0",
    "PG021": "work_mem = '512MB'",
    "PG081": "log_statement = 'all'",
    "PG082": "log_line_prefix = ''",
    "PG111": "password_encryption = 'md5'",
}
ARCHIVE_OF_NOTHING = ("archive_mode = on", "archive_command = '/bin/true'")
IN_THE_DATABASE = {
    "PG007": ["CREATE UNLOGGED TABLE gone (id int PRIMARY KEY)"],
    "PG055": ["CREATE TABLE still (id int PRIMARY KEY) WITH (autovacuum_enabled = off)"],
    "PG061": ["SELECT pg_create_physical_replication_slot('left_behind')"],
    "PG100": ["CREATE TABLE nameless (a int)", "INSERT INTO nameless VALUES (1), (1)"],
    "PG101": ["CREATE TABLE twice (id int PRIMARY KEY, a int)", "CREATE INDEX one ON twice (a)",
              "CREATE INDEX two ON twice (a)"],
    "PG105": ["CREATE TABLE full_soon (id serial PRIMARY KEY)", "SELECT setval('full_soon_id_seq', 2000000000)"],
    "PG115": ["GRANT CREATE ON SCHEMA public TO PUBLIC"],
}  # fmt: skip


@pytest.fixture(scope="module")
def server(version: str, engine: Engine, clock: SystemClock) -> Iterator[Sandbox]:
    with temporary_home(clock) as home:
        box = create(home, engine, "check", SandboxOptions(version=version), clock=clock)
        box.start({})
        yield box
        box.stop("immediate")


def look(box: Sandbox, engine: Engine, clock: SystemClock, host: HostAt = NO_HOST, **more: object) -> Checked:
    """With time enough for a busy machine."""
    options = Options(clock=clock, config=Path("/nonexistent"), token="T" + "0" * 32, timeout_s=120.0, **more)  # type: ignore[arg-type]
    return audit(box.target, box.secret, engine, host, options)


def restart_with_altered(box: Sandbox) -> None:
    """Restarts it with what ALTER SYSTEM has set; a sandbox writes its configuration anew at each start."""
    rows = ask(box, "SELECT name, setting FROM pg_file_settings WHERE sourcefile LIKE '%postgresql.auto.conf'")
    box.stop()
    box.start({str(name): str(value) for name, value in rows})


AGE = {"PG090", "PG093"}
"""How old the installed release is depends on the day, and on what this machine has."""


def found(checked: Checked) -> dict[str, Severity]:
    failed = (one for one in checked.of(Verdict.FAIL) if one.rule.startswith("PG"))
    return {one.rule: one.severity for one in failed if one.rule not in AGE}


def test_1_a_plain_server_hears_only_advice(server: Sandbox, engine: Engine, clock: SystemClock) -> None:
    checked = look(server, engine, clock, LOCAL)
    assert set(found(checked)) == STOCK
    assert set(found(checked).values()) == {Severity.ADVICE}
    assert checked.level is Level.L3
    assert checked.lacking == ("pitr",)
    unseen = {one.rule for one in checked.of(Verdict.UNKNOWN) if one.rule.startswith("PG")}
    # The machine's disk may hide what it is; statistics of a few seconds say nothing of the log.
    assert unseen <= {"PG040", "PG041", "PG030", "PG033"}
    assert not checked.problems


def test_2_advice_converges(server: Sandbox, engine: Engine, clock: SystemClock) -> None:
    """All settings that are advised, applied with their own statements; then undone with their own statements."""
    before = look(server, engine, clock, LOCAL)
    fixes = [fix for one in before.of(Verdict.FAIL) for fix in one.fixes if fix.kind == "setting"]
    assert len(fixes) >= 5
    for fix in fixes:
        for statement in filter(None, (part.strip() for part in fix.live.split(";"))):
            ask(server, statement)
    restart_with_altered(server)
    after = look(server, engine, clock, LOCAL)
    mended = {one.rule for one in before.of(Verdict.FAIL) if any(fix.kind == "setting" for fix in one.fixes)}
    assert not mended & set(found(after)), "advice that was taken is given again"
    assert set(found(after)) <= set(found(before)), "taking one advice brought another"
    for fix in fixes:
        for statement in filter(None, (part.strip() for part in fix.undo.split(";"))):
            ask(server, statement)
    restart_with_altered(server)
    assert set(found(look(server, engine, clock, LOCAL))) == set(found(before))
    server.stop()
    server.start({})


def test_3_an_unprivileged_user_sees_less_and_is_told(server: Sandbox, engine: Engine, clock: SystemClock) -> None:
    ask(server, "CREATE ROLE nobody LOGIN")
    target = server.target
    poor = type(target)(**{**{name: getattr(target, name) for name in target.__struct_fields__}, "user": "nobody"})
    options = Options(clock=clock, config=Path("/nonexistent"), token="T0")
    checked = audit(poor, Secret(None), engine, NO_HOST, options)
    unknown = {one.rule: one.says for one in checked.of(Verdict.UNKNOWN)}
    assert {"PG053", "PG070", "PG110", "PG112", "PG122"} <= set(unknown)
    assert "pg_read_all_stats" in unknown["PG053"]
    ask(server, "DROP ROLE nobody")


def test_4_a_dump_says_the_same(server: Sandbox, engine: Engine, clock: SystemClock, tmp_path: Path) -> None:
    live = look(server, engine, clock)
    out = write_dump(tmp_path / "dump.tar.gz", live, None)
    options = Options(clock=clock, config=Path("/nonexistent"), token="T0")
    again = audit_dump(out, options)
    assert again.engine == live.engine
    assert [(one.rule, one.verdict) for one in again.findings] == [(one.rule, one.verdict) for one in live.findings]


def test_4_no_password_of_the_configuration_is_kept(
    server: Sandbox, engine: Engine, clock: SystemClock, tmp_path: Path
) -> None:
    ask(server, "ALTER SYSTEM SET primary_conninfo = 'host=a user=r password=Xgeheim7 port=1'")
    ask(server, "ALTER SYSTEM SET archive_command = 'push --password=Xgeheim7 %p'")
    ask(server, "SELECT pg_reload_conf()")
    ask(server, "SELECT pg_sleep(0.3)")
    checked = look(server, engine, clock, LOCAL)
    conninfo = next(fact for fact in checked.facts if fact.name == "setting.primary_conninfo")
    assert "user=r password=***" in str(conninfo.value), "the setting itself is seen"
    assert b"Xgeheim7" not in to_json(checked)
    with tarfile.open(write_dump(tmp_path / "dump.tar.gz", checked, None)) as dump:
        for member in dump:
            content = dump.extractfile(member)
            assert content is not None
            assert b"Xgeheim7" not in content.read()
    for name in ("primary_conninfo", "archive_command"):
        ask(server, f"ALTER SYSTEM RESET {name}")
    ask(server, "SELECT pg_reload_conf()")


def test_5_the_generated_configuration_starts(server: Sandbox, engine: Engine, clock: SystemClock) -> None:
    checked = look(server, engine, clock, LOCAL, generate=True)
    made = checked.generated
    assert made is not None
    assert all(reason for reason in made.reasons.values())
    for line in made.text.splitlines():
        assert not line or line.startswith("#") or line.split(" = ")[0] in made.reasons
    server.stop()
    server.start(made.assignment)
    settings = {fact.name: fact.value for fact in look(server, engine, clock, LOCAL).facts}
    assert str(settings["setting.max_wal_size"]) == str(made.assignment["max_wal_size"])
    assert "WARNING" not in server.log_tail(40).split("starting PostgreSQL")[-1]
    remaining = set(found(look(server, engine, clock, LOCAL))) - STOCK
    assert not remaining, "the formula is at odds with the rules"
    server.stop()
    server.start({})


def test_6_the_contract_refuses_each_setting_of_its_table(server: Sandbox, engine: Engine, clock: SystemClock) -> None:
    """The negative control of «L3»: each planted setting alone is named."""
    for setting in ("fsync", "full_page_writes", "synchronous_commit", "autovacuum"):
        ask(server, f"ALTER SYSTEM SET {setting} = off")
        ask(server, "SELECT pg_reload_conf()")
        ask(server, "SELECT pg_sleep(0.3)")
        broken = look(server, engine, clock, judge_contract=True)
        assert any(one.rule == "CONTRACT" and setting in one.says for one in broken.of(Verdict.FAIL)), setting
        ask(server, f"ALTER SYSTEM RESET {setting}")
    ask(server, "SELECT pg_reload_conf()")
    ask(server, "SELECT pg_sleep(0.3)")
    said = [
        one.says for one in look(server, engine, clock, judge_contract=True).of(Verdict.FAIL) if one.rule == "CONTRACT"
    ]
    assert all("pitr" in one for one in said), "a plain server lacks only the archive"


def test_7_each_planted_fault_is_found_and_nothing_else(server: Sandbox, engine: Engine, clock: SystemClock) -> None:
    before = set(found(look(server, engine, clock, LOCAL)))
    for statements in IN_THE_DATABASE.values():
        for statement in statements:
            ask(server, statement)
    with pytest.raises(psycopg.errors.UniqueViolation):
        ask(server, "CREATE UNIQUE INDEX CONCURRENTLY broken ON nameless (a)")
    for assignment in (*PLANTED.values(), *ARCHIVE_OF_NOTHING):
        ask(server, f"ALTER SYSTEM SET {assignment}")
    restart_with_altered(server)
    with (server.data / "pg_hba.conf").open("a") as hba:
        hba.write("\nhost all all 10.0.0.0/8 trust\n")
    ask(server, "ALTER SYSTEM SET shared_buffers = '200MB'")
    ask(server, "ALTER SYSTEM SET work_mem = '400MB'")
    ask(server, "SELECT pg_reload_conf()")
    ask(server, "SELECT pg_sleep(0.3)")
    checked = look(server, engine, clock, LOCAL)
    assert not checked.problems
    new = set(found(checked)) - before
    planted = {*PLANTED, *IN_THE_DATABASE, "PG103", "PG110", "PG120", "PG121"}
    assert planted <= new, f"not found: {sorted(planted - new)}"
    assert new <= planted, f"not planted: {sorted(new - planted)}"
    assert found(checked)["PG009"] is Severity.CRITICAL
    assert checked.level is Level.L0
    assert "maintenance" in checked.lacking


@dataclass
class Ran:
    returncode: int
    stdout: str
    stderr: str


def run(*words: str, verb: str = "check") -> Ran:
    """The command line in this process: starting Python a dozen times takes longer than all the rest."""
    out, errors = io.StringIO(), io.StringIO()
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(errors),
    ):
        patch.setattr(sys, "argv", ["dyno", verb, *words])
        with pytest.raises(SystemExit) as status:
            main()
    return Ran(int(status.value.code or 0), out.getvalue(), errors.getvalue())


def test_8_the_command_line(server: Sandbox, tmp_path: Path) -> None:
    target = server.target
    url = f"postgresql://{target.user}@/{target.database}?host={target.host}&port={target.port}"
    text = run(url, "--host", "unknown", "--only", "durability")
    assert text.returncode == 1
    assert "[!!] PG001 critical" in text.stdout
    assert "\x1b[" not in text.stdout
    sarif = json.loads(run(url, "--output", "sarif").stdout)
    assert sarif["version"] == "2.1.0"
    assert any(one["ruleId"] == "PG001" and one["level"] == "error" for one in sarif["runs"][0]["results"])
    baseline = tmp_path / "baseline.json"
    assert run(url, "--write-baseline", str(baseline)).returncode == 1
    assert run(url, "--baseline", str(baseline)).returncode == 0
    assert run(url, "--baseline", str(baseline), "--contract", "L3").returncode == 1, "a breach is never accepted"
    many = tmp_path / "targets"
    many.write_text(f"# two\n{url} unknown\npostgresql://x@127.0.0.1:1/none unknown\n")
    both = run("--targets", str(many))
    assert both.returncode == 2
    assert "NOT SEEN" in both.stdout
    assert both.stdout.rstrip().splitlines()[-3].startswith("target ")
    slip = run(url, "--only", "PG00l")
    assert slip.returncode == 2
    assert "names no rule" in slip.stderr


def test_9_a_script_alone_makes_a_dump(server: Sandbox, tmp_path: Path) -> None:
    """Where nothing may be installed: a POSIX shell, psql, and a file that comes back."""
    if shutil.which("psql") is None:
        pytest.skip("there is no psql on this machine")
    script = run("--script", verb="collect")
    assert script.returncode == 0
    target = server.target
    environment = {
        "PGHOST": target.host,
        "PGPORT": str(target.port),
        "PGUSER": target.user,
        "PGDATABASE": target.database,
    }
    made = subprocess.run(
        ["sh"],
        input=script.stdout,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **environment},
        check=True,
    )
    (tmp_path / "dump.txt").write_text(made.stdout)
    audited = json.loads(run("--from", str(tmp_path / "dump.txt"), "--output", "json").stdout)
    verdicts = {one["rule"]: one["verdict"] for one in audited["findings"]}
    assert audited["engine"] == "postgresql"
    assert audited["host"] == "dump"
    assert [verdicts[rule] for rule in ("PG001", "PG050", "PG100", "PG101", "PG110")] == ["fail"] * 5
    assert verdicts["PG005"] == "pass"
    assert len([rule for rule in verdicts if rule.startswith("HOST")]) > 20


def test_9_collect_and_check_from_the_command_line(server: Sandbox, tmp_path: Path) -> None:
    target = server.target
    url = f"postgresql://{target.user}@/{target.database}?host={target.host}&port={target.port}"
    made = run(url, "-o", str(tmp_path / "dump.tar.gz"), verb="collect")
    assert made.returncode == 0, made.stderr
    assert (tmp_path / "dump.tar.gz").stat().st_mode & 0o077 == 0, "a dump is nobody else's business"
    read = run("--from", str(tmp_path / "dump.tar.gz"), "--contract", "L3")
    assert read.returncode == 1
    assert "CONTRACT critical: fsync = off" in read.stdout
