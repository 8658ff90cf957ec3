"""Private servers of the MySQL family: made, started, crashed, reset, several versions side by side, nothing left."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from sandbox_tools import leaves_nothing, temporary_home

from dbdyno.cli.common import SystemClock
from dbdyno.engines.registry import engine_named
from dbdyno.model.engine import Session
from dbdyno.model.errors import SandboxError, TargetError, UsageError
from dbdyno.model.home import Home
from dbdyno.model.target import Target
from dbdyno.sandbox.options import SandboxOptions, parse_url
from dbdyno.sandbox.sandbox import Sandbox, create, open_sandbox
from dbdyno.sandbox.targets import resolve

KINDS = {
    "mariadb": ("mariadb", None),
    "mysql": ("mysql", None),
    "mariadb-11.4": ("mariadb", "11.4"),
    "rocksdb": ("mariadb+rocksdb", None),
}


def options_of(kind: str) -> tuple[str, SandboxOptions]:
    scheme, version = KINDS[kind]
    found = engine_named(scheme).recipe().installations()
    if not any(version is None or one.version_text.startswith(version) for one in found):
        pytest.skip(f"no server for {kind} is installed (tools/servers fetches some)")
    return scheme, SandboxOptions(version=version)


@pytest.fixture(scope="module")
def shared_home() -> Iterator[Home]:
    with temporary_home(SystemClock()) as home:
        yield home


@pytest.fixture(scope="module", params=["mariadb", "mysql", "rocksdb"])
def box(request: pytest.FixtureRequest, shared_home: Home) -> Iterator[Sandbox]:
    kind: str = request.param
    scheme, options = options_of(kind)
    box = create(shared_home, engine_named(scheme), kind, options, clock=SystemClock())
    try:
        yield box
    finally:
        box.remove()
        leaves_nothing(box)


def up(box: Sandbox) -> None:
    """It stays up between tests, on its own defaults."""
    if not box.running():
        box.start({})


def session_of(box: Sandbox) -> Session:
    return box.engine.connect(box.target, box.secret)


def run(box: Sandbox, *statements: str) -> list[tuple[object, ...]]:
    session = session_of(box)
    try:
        rows: list[tuple[object, ...]] = []
        for statement in statements:
            rows = session.run(statement, "ask")  # type: ignore[attr-defined]
        return rows
    finally:
        session.close()


def test_a_server_lives_crashes_recovers_and_is_reset(box: Sandbox) -> None:
    box.start()
    assert box.running()
    run(box, "CREATE TABLE t (a INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    assert box.stop() > 0
    box.save_pristine()
    box.start({"max_connections": 77})
    run(box, "INSERT INTO t VALUES (2)")
    box.crash()
    assert not box.running()
    box.recover()
    assert run(box, "SELECT a FROM t ORDER BY a") == [(1,), (2,)]
    assert run(box, "SELECT @@max_connections") == [(77,)]
    box.stop()
    box.reset()
    box.start()
    assert run(box, "SELECT a FROM t") == [(1,)]
    box.stop()
    assert box.server_pids() == []


def test_it_is_alone_with_its_one_account(box: Sandbox) -> None:
    up(box)
    accounts = {str(user) for (user,) in run(box, "SELECT user FROM mysql.user")}
    assert {name for name in accounts if not name.startswith(("mysql.", "mariadb."))} == {"dyno"}
    if os.geteuid() == 0:
        owners = {os.stat(f"/proc/{pid}").st_uid for pid in box.server_pids()}
        assert 0 not in owners
    arguments = b"".join(Path(f"/proc/{pid}/cmdline").read_bytes() for pid in box.server_pids())
    secret = box.secret.reveal()
    assert secret is not None
    assert secret.encode() not in arguments
    wrong = box.engine.target(f"mysql://dyno:no@/dyno?host={box.target.host}", {"HOME": "/nonexistent"})
    with pytest.raises(TargetError, match="password"):
        box.engine.connect(*wrong)
    by_port = Target(engine=box.engine.name, host="127.0.0.1", port=box.target.port, user="dyno", database="dyno")
    session = box.engine.connect(by_port, box.secret)
    assert session.version == box.installation.version
    session.close()


def test_a_setting_that_cannot_be_is_said_in_the_servers_words(box: Sandbox) -> None:
    box.stop()
    with pytest.raises(SandboxError) as error:
        box.start({"no_such_setting": 1}, timeout_s=30)
    assert "no_such_setting" in error.value.found
    # What worked last is kept.
    box.start()


def test_what_is_deferred_is_written_and_charged(box: Sandbox) -> None:
    up(box)
    try:
        doubling = ["INSERT INTO d (b) SELECT b FROM d"] * 12
        run(box, "CREATE TABLE d (a INT AUTO_INCREMENT PRIMARY KEY, b VARCHAR(255))",
            "INSERT INTO d (b) VALUES (REPEAT('x', 200))", *doubling)  # fmt: skip
        session = session_of(box)
        before = {name: one.value for name, one in session.settings().items()}
        debt = session.settle()
        after = {name: one.value for name, one in session.settings().items()}
        session.close()
        assert debt.seconds >= 0
        assert debt.written_bytes is not None
        assert debt.written_bytes > 0
        # Clocks and numbers of transactions go on by themselves.
        assert {name for name in before if before[name] != after[name] and "gtid" not in name} <= {"timestamp"}
    finally:
        run(box, "DROP TABLE IF EXISTS d")


def test_settings_are_changed_while_it_runs_and_put_back(box: Sandbox) -> None:
    up(box)
    session = session_of(box)
    found = session.settings()
    wanted = {"innodb_io_capacity": 450, "table_open_cache": 777}
    assert session.apply(wanted) == []
    now = session.settings()
    assert all(session.agrees(now[name], value) for name, value in wanted.items())
    with pytest.raises(TargetError):
        session.apply({"innodb_io_capacity": 460, "no_such_setting": 1})
    assert session.settings()["innodb_io_capacity"].value == "450"
    assert session.apply({}, reset={name: found[name].value for name in wanted}) == []
    now = session.settings()
    assert {name: now[name].value for name in wanted} == {name: found[name].value for name in wanted}
    assert not any(now[name].persisted for name in wanted)
    session.close()


def test_a_missing_privilege_is_unknown_and_not_calm(box: Sandbox) -> None:
    up(box)
    try:
        run(box, "CREATE USER 'few'@'%' IDENTIFIED BY 'few'")
        target, secret = box.engine.target(f"mysql://few:few@/?host={box.target.host}", {"HOME": "/nonexistent"})
        session = box.engine.connect(target, secret)
        asked = [probe for probe in box.engine.probes(session.version) if probe.privilege]
        assert asked, "no probe needs a privilege"
        for probe in asked:
            with pytest.raises(TargetError, match="lacks the privilege"):
                session.ask(probe)
        with pytest.raises(TargetError):
            session.apply({"innodb_io_capacity": 450})
        assert {fact.name: fact.unknown for fact in session.facts()}["server.in_recovery"]
        session.close()
    finally:
        run(box, "DROP USER 'few'@'%'")


def test_the_address_chooses_vendor_and_storage_engine(shared_home: Home) -> None:
    options_of("rocksdb")
    url = parse_url("sandbox:mariadb?engine=rocksdb&name=r")
    assert (url.engine, url.name) == ("mariadb+rocksdb", "r")
    found = resolve("sandbox:mariadb?engine=rocksdb&name=r", home=shared_home, environment={}, clock=SystemClock())
    assert found.sandbox is not None
    try:
        assert found.engine.name == "myrocks"
        found.sandbox.start()
        assert run(found.sandbox, "SELECT @@default_storage_engine") == [("ROCKSDB",)]
        again = resolve(found.sandbox.url, home=shared_home, environment={}, clock=SystemClock())
        assert (again.engine.name, again.target.host) == ("myrocks", found.sandbox.target.host)
        with pytest.raises(SandboxError, match="is one of"):
            open_sandbox(shared_home, "mysql", "r", clock=SystemClock())
        with pytest.raises(SandboxError, match="is one of"):
            open_sandbox(shared_home, "mariadb", "r", clock=SystemClock())
    finally:
        found.sandbox.remove()


def test_several_versions_stand_side_by_side(shared_home: Home) -> None:
    made = []
    try:
        for kind in ("mariadb", "mariadb-11.4"):
            scheme, options = options_of(kind)
            box = create(shared_home, engine_named(scheme), f"beside-{kind}", options, clock=SystemClock())
            made.append(box)
            box.start()
        assert [box.running() for box in made] == [True, True]
        assert [session_of(box).version // 10_000 for box in made] == [110, 111]
        debts = [session_of(box).settle() for box in made]
        assert all(debt.seconds >= 0 for debt in debts)
    finally:
        for box in made:
            box.remove()
            leaves_nothing(box)


def test_a_page_size_is_given_when_a_server_is_made(shared_home: Home) -> None:
    scheme, options = options_of("mariadb")
    size = {"innodb_page_size": 4096}
    box = create(shared_home, engine_named(scheme), "p4", options, clock=SystemClock(), made_with=size)
    try:
        box.start({})
        assert run(box, "SELECT @@innodb_page_size") == [(4096,)]
    finally:
        box.remove()


def test_binaries_that_are_none_are_refused(tmp_path: Path, shared_home: Home) -> None:
    with pytest.raises(UsageError, match="holds no server"):
        create(shared_home, engine_named("mysql"), "x", SandboxOptions(bin_dir=str(tmp_path)), clock=SystemClock())
    with pytest.raises(UsageError, match="cannot serve here"):
        create(shared_home, engine_named("mysql"), "x", SandboxOptions(bin_dir="/usr/sbin"), clock=SystemClock())
