"""Conformance: every probe on every server there is, as superuser and as a user without privileges."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sandbox_tools import ask, temporary_home

from dbdyno.cli.common import SystemClock
from dbdyno.engines.registry import engine_named
from dbdyno.model.engine import Session
from dbdyno.model.errors import TargetError
from dbdyno.model.probe import ColumnKind, Probe
from dbdyno.model.record import to_dict
from dbdyno.model.target import Secret, Target
from dbdyno.sandbox.options import SandboxOptions
from dbdyno.sandbox.sandbox import Sandbox, create

ENGINE = engine_named("postgresql")
INSTALLED = sorted({one.version_text.partition(".")[0] for one in ENGINE.recipe().installations()})


@pytest.fixture(scope="module", params=INSTALLED or ["none"])
def server(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    """A running server of each installed version, with a table, so that no probe looks at nothing."""
    if request.param == "none":
        pytest.skip("no server is installed")
    clock = SystemClock()
    with temporary_home(clock) as home:
        box = create(home, ENGINE, f"probes{request.param}", SandboxOptions(version=request.param), clock=clock)
        with box.held():
            box.start()
            ask(box, "CREATE TABLE seen AS SELECT generate_series(1, 1000) AS id")
            ask(box, "SELECT pg_create_physical_replication_slot('kept', true)")
            ask(box, "CREATE ROLE nobody_much LOGIN PASSWORD 'x'")
            yield box


def asked(session: Session, probes: list[Probe]) -> dict[str, tuple[dict[str, object], ...]]:
    return {probe.name: session.ask(probe) for probe in probes}  # type: ignore[misc]


def test_answers_have_the_columns_of_the_header(server: Sandbox) -> None:
    with_load = ENGINE.connect(server.target, server.secret)
    session = ENGINE.connect(server.target, server.secret)
    probes = ENGINE.probes(session.version)
    assert {"wal", "checkpoints", "buffers", "database", "waits", "connections", "slots", "size"} <= {
        probe.name for probe in probes
    }
    answers = asked(session, probes)
    for probe in probes:
        for row in answers[probe.name]:
            assert set(row) == {column.name for column in probe.columns}, probe.name
            for column in probe.columns:
                value = row[column.name]
                words = column.kind in (ColumnKind.KEY, ColumnKind.TEXT)
                assert isinstance(value, str if words else int | float), f"{probe.name}.{column.name}: {value!r}"
                if column.kind is ColumnKind.COUNTER:
                    assert value >= 0  # type: ignore[operator]
    for name in ("wal", "checkpoints", "buffers", "database", "tables", "size", "transactions", "autovacuum"):
        assert len(answers[name]) == 1, name
    assert answers["slots"][0]["slot"] == "kept"
    assert answers["connections"]
    with_load.close()
    session.close()


def test_counters_rise_with_work_and_never_fall(server: Sandbox) -> None:
    session = ENGINE.connect(server.target, server.secret)
    probes = {probe.name: probe for probe in ENGINE.probes(session.version)}
    before = {name: session.ask(probes[name])[0] for name in ("wal", "checkpoints", "buffers")}
    ask(server, "INSERT INTO seen SELECT generate_series(1, 20000)")
    ask(server, "CHECKPOINT")
    after = {name: session.ask(probes[name])[0] for name in ("wal", "buffers")}
    assert after["wal"]["position_bytes"] > before["wal"]["position_bytes"] + 20000  # type: ignore[operator]
    # The checkpointer reports shortly after the command returns.
    requested = before["checkpoints"]["requested"]
    for _ in range(100):
        now = session.ask(probes["checkpoints"])[0]
        if now["requested"] > requested:  # type: ignore[operator]
            break
        ask(server, "SELECT pg_sleep(0.05)")
    assert now["requested"] > requested  # type: ignore[operator]
    assert session.ask(probes["buffers"])[0]["write_bytes"] > before["buffers"]["write_bytes"]  # type: ignore[operator]
    session.close()


def test_without_the_privilege_the_reason_is_said(server: Sandbox) -> None:
    target = Target(**{**to_dict(server.target), "user": "nobody_much", "allow": frozenset()})
    session = ENGINE.connect(target, Secret("x"))
    for probe in ENGINE.probes(session.version):
        if probe.privilege:
            with pytest.raises(TargetError) as caught:
                session.ask(probe)
            assert probe.privilege in caught.value.found
            assert "GRANT" in caught.value.todo
        else:
            session.ask(probe)
    session.close()


def test_a_question_that_takes_too_long_is_given_up(server: Sandbox) -> None:
    session = ENGINE.connect(server.target, server.secret)
    slow = Probe(name="slow", title="t", columns=(), query="SELECT pg_sleep(30)", timeout_s=0.1)
    with pytest.raises(TargetError, match="slow"):
        session.ask(slow)
    # The short limit was that question's alone.
    assert session.facts()
    patient = Probe(name="patient", title="t", columns=(), query="SELECT pg_sleep(0.3)", timeout_s=5)
    assert len(session.ask(patient)) == 1
    session.close()


def test_questions_write_nothing(server: Sandbox) -> None:
    ask(server, f'ALTER ROLE "{server.target.user}" SET default_transaction_read_only = on')
    try:
        session = ENGINE.connect(server.target, server.secret)
        assert asked(session, ENGINE.probes(session.version))
        session.close()
    finally:
        ask(server, f'BEGIN READ WRITE; ALTER ROLE "{server.target.user}" RESET ALL; COMMIT')
