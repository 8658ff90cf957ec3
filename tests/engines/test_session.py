"""Questions and settings on real servers, and what a user is told when a server refuses."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from sandbox_tools import ask, temporary_home

from dbdyno.cli.common import SystemClock
from dbdyno.engines.postgresql import session as subject
from dbdyno.model.engine import Engine, Session
from dbdyno.model.errors import TargetError
from dbdyno.model.probe import Probe
from dbdyno.model.target import Secret, Target
from dbdyno.sandbox.options import SandboxOptions
from dbdyno.sandbox.ports import free_port
from dbdyno.sandbox.sandbox import Sandbox, create


@pytest.fixture(scope="module")
def sandbox(version: str, engine: Engine, clock: SystemClock) -> Iterator[Sandbox]:
    """One server for all tests of this file; each leaves its settings as they were."""
    options = SandboxOptions(version=version)
    with temporary_home(clock) as home, create(home, engine, "test", options, clock=clock).held() as one:
        one.start({"max_connections": 8, "superuser_reserved_connections": 2, "max_wal_senders": 0})
        yield one


@pytest.fixture
def session(sandbox: Sandbox, engine: Engine) -> Iterator[Session]:
    one = engine.connect(sandbox.target, sandbox.secret)
    yield one
    if not one_is_lost(one):
        one.apply({}, reset=["work_mem", "maintenance_work_mem", "checkpoint_timeout", "shared_buffers"])
    one.close()


def one_is_lost(session: Session) -> bool:
    try:
        session.settings()
    except TargetError:
        return True
    return False


def over_tcp(sandbox: Sandbox, **changes: object) -> Target:
    words = {
        "engine": "postgresql",
        "host": "127.0.0.1",
        "port": sandbox.target.port,
        "user": "dyno",
        "database": "dyno",
    }
    return Target(**{**words, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({}, "refuses the password"),
        ({"user": "nobody_here"}, "refuses the password"),
        ({"host": "10.255.255.1"}, "cannot be reached"),
        ({"host": "/nonexistent"}, "cannot be reached"),
        ({"host": "no-such-host.invalid"}, "name is not known"),
    ],
)
def test_a_refused_connection_says_what_to_do(
    sandbox: Sandbox, changes: dict[str, object], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subject, "CONNECT_TIMEOUT_S", 2)
    with pytest.raises(TargetError, match=says) as caught:
        subject.connect(over_tcp(sandbox, **changes), Secret("wrong guess"))
    assert caught.value.found
    assert caught.value.todo
    assert "wrong guess" not in str(caught.value)


def test_no_server_no_database_no_role_no_slot(sandbox: Sandbox) -> None:
    with pytest.raises(TargetError, match="cannot be reached"):
        subject.connect(over_tcp(sandbox, port=free_port()), sandbox.secret)
    with pytest.raises(TargetError, match="no such database"):
        subject.connect(over_tcp(sandbox, database="missing"), sandbox.secret)
    socket = {"host": sandbox.target.host}
    with pytest.raises(TargetError, match="no such user"):
        subject.connect(over_tcp(sandbox, user="missing", **socket), Secret(None))
    held = [psycopg.connect(host=sandbox.target.host, port=sandbox.target.port, user="dyno") for _ in range(8)]
    with pytest.raises(TargetError, match="no free connection slot"):
        subject.connect(sandbox.target, sandbox.secret)
    for one in held:
        one.close()


def test_facts_are_read_and_what_may_not_be_read_is_unknown(sandbox: Sandbox, session: Session, version: str) -> None:
    facts = {fact.name: fact for fact in session.facts()}
    assert not [fact for fact in facts.values() if fact.unknown]
    assert facts["server.version"].value == session.version
    assert session.version_text.startswith(version)
    assert facts["server.superuser"].value is True
    bytes_ = facts["server.database_bytes"].value
    assert isinstance(bytes_, int)
    assert bytes_ > 1_000_000
    ask(sandbox, "DROP ROLE IF EXISTS weak; CREATE ROLE weak LOGIN")
    weak = subject.connect(over_tcp(sandbox, user="weak", host=sandbox.target.host), Secret(None))
    facts = {fact.name: fact for fact in weak.facts()}
    assert facts["server.data_directory"].value is None
    assert "examine" in facts["server.data_directory"].unknown
    assert facts["server.superuser"].value is False
    weak.close()


def test_settings_are_applied_and_reset(session: Session) -> None:
    assert session.apply({"work_mem": 8192, "checkpoint_timeout": "7min"}) == []
    settings = session.settings()
    assert (settings["work_mem"].value, settings["work_mem"].unit) == ("8192", "kB")
    assert session.agrees(settings["checkpoint_timeout"], "7min")
    assert session.agrees(settings["checkpoint_timeout"], 420)
    assert not session.agrees(settings["checkpoint_timeout"], "5min")
    assert "pglz" in settings["default_toast_compression"].choices
    assert session.apply({"shared_buffers": "64MB"}) == ["shared_buffers"]
    assert session.settings()["shared_buffers"].pending_restart
    assert session.apply({}, reset=["work_mem", "checkpoint_timeout", "shared_buffers"]) == []
    settings = session.settings()
    assert settings["work_mem"].value == "4096"
    assert settings["checkpoint_timeout"].value == "300"


@pytest.mark.parametrize("bad", [{"checkpoint_timeout": "1ms"}, {"no_such_setting": 5}, {"autovacuum": "perhaps"}])
def test_an_application_that_fails_half_way_is_taken_back(session: Session, bad: dict[str, str | int]) -> None:
    session.apply({"work_mem": "6MB"})
    with pytest.raises(TargetError, match=next(iter(bad))):
        session.apply({"work_mem": "9MB", "maintenance_work_mem": "99MB", **bad})
    session.apply({})
    settings = session.settings()
    assert settings["work_mem"].value == "6144"
    assert settings["maintenance_work_mem"].value == "65536"


def test_a_missing_privilege_is_said(sandbox: Sandbox) -> None:
    ask(sandbox, "DROP ROLE IF EXISTS weak; CREATE ROLE weak LOGIN")
    weak = subject.connect(over_tcp(sandbox, user="weak", host=sandbox.target.host), Secret(None))
    for refused in (lambda: weak.apply({"work_mem": "6MB"}), weak.settle):
        with pytest.raises(TargetError, match="refused") as caught:
            refused()
        assert "42501" in caught.value.found
        assert caught.value.todo
    weak.close()


def test_settling_tells_what_was_deferred(sandbox: Sandbox, session: Session) -> None:
    session.settle()
    ask(sandbox, "CREATE TABLE t AS SELECT i, repeat('x', 500) AS x FROM generate_series(1, 20000) AS i")
    debt = session.settle()
    assert debt.seconds > 0
    assert debt.written_bytes is not None
    assert debt.written_bytes > 8_000_000
    again = session.settle()
    assert again.written_bytes is not None
    assert again.written_bytes < 1_000_000


def test_probes_are_asked(session: Session, engine: Engine) -> None:
    query = "SELECT 1 AS one, 2.5::numeric AS half, interval '2 s' AS span, true AS yes, NULL AS nothing, '5%' AS text"
    probe = Probe(name="x", title="x", columns=(), query=query)
    assert session.ask(probe) == ({"one": 1, "half": 2.5, "span": 2.0, "yes": True, "nothing": None, "text": "5%"},)
    bad = Probe(name="broken", title="x", columns=(), query="SELECT * FROM nowhere")
    with pytest.raises(TargetError, match="broken") as caught:
        session.ask(bad)
    assert "nowhere" in caught.value.found
    for shipped in engine.probes(session.version):
        session.ask(shipped)


def test_a_lost_server_is_said(sandbox: Sandbox, session: Session) -> None:
    sandbox.crash()
    with pytest.raises(TargetError, match="was lost"):
        session.settings()
    sandbox.start()
