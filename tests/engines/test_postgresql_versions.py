"""Each PostgreSQL that is here: it takes the formulas' settings over, and every rule can see what it asks for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sandbox_tools import temporary_home

from dbdyno.check.audit import Options, audit
from dbdyno.check.host import HostAt
from dbdyno.cli.common import SystemClock
from dbdyno.engines.registry import engine_named
from dbdyno.model.finding import Verdict
from dbdyno.model.knob import Assignment
from dbdyno.model.machine import DiskClass, Machine
from dbdyno.sandbox.options import SandboxOptions
from dbdyno.sandbox.sandbox import Sandbox, create
from dbdyno.tune.contract import fit_assignment, fit_to_server
from dbdyno.tune.control import Started
from dbdyno.tune.sandbox_control import read_back

ENGINE = engine_named("postgresql")
MAJORS = sorted({one.version_text.partition(".")[0] for one in ENGINE.recipe().installations()})
MACHINE = Machine(memory_bytes=2 << 30, cores=2, disk=DiskClass.SSD)


@pytest.fixture(scope="module", params=MAJORS or ["none"])
def server(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    if request.param == "none":
        pytest.skip("no server is installed")
    clock = SystemClock()
    with temporary_home(clock) as home:
        yield create(home, ENGINE, f"v{request.param}", SandboxOptions(version=request.param), clock=clock)


def started_with(server: Sandbox, assignment: Assignment) -> Started:
    with server.held():
        server.start(assignment)
        session = ENGINE.connect(server.target, server.secret)
        try:
            return read_back(session, assignment)
        finally:
            session.close()
            server.stop()


def test_the_formulas_settings_are_taken_over(server: Sandbox) -> None:
    version = server.installation.version
    # A build may lack what its version has, a compression for one.
    space = fit_to_server(ENGINE.knobs(MACHINE, version), started_with(server, {}).settings, restart=True)
    advice = ENGINE.advice(MACHINE, version)
    assert advice
    for one in advice:
        assignment, _left_out = fit_assignment(one.assignment, space, restart=True)
        assert assignment, one.name
        assert not started_with(server, assignment).differing, one.name


def test_every_rule_can_see_what_it_asks_for(server: Sandbox) -> None:
    with server.held():
        server.start({})
        try:
            options = Options(clock=SystemClock(), config=Path("/nonexistent"), token="T" + "0" * 32, timeout_s=120.0)
            found = audit(server.target, server.secret, ENGINE, HostAt(label=""), options)
        finally:
            server.stop()
    assert len(found.findings) > 50
    # What a rule does not see here must be for a reason of the machine or of time, never for a question that this
    # version of the server does not understand.
    blind = [one for one in found.findings if one.verdict is Verdict.UNKNOWN]
    wrong = [
        one for one in blind if any(word in str(one) for word in ("does not exist", "syntax error", "unrecognized"))
    ]
    assert not wrong, [f"{one.rule}: {one}" for one in wrong]
