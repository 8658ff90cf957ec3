"""Fixes of a real server's settings: found, applied with a restart where one is needed, seen, undone; and taken back
when the server does not start with them."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from pathlib import Path

import pytest
from sandbox_tools import ask

from dbdyno.check import fixes
from dbdyno.check.apply import apply, undo
from dbdyno.check.apply_live import Machine
from dbdyno.check.apply_server import TargetServer
from dbdyno.check.audit import Options, audit
from dbdyno.check.host import find_host
from dbdyno.check.result import Checked
from dbdyno.cli.common import SystemClock
from dbdyno.engines.registry import engine_named
from dbdyno.model.errors import DynoError, PermissionRefused
from dbdyno.model.finding import Verdict
from dbdyno.model.target import Permission
from dbdyno.sandbox.sandbox import Sandbox
from dbdyno.sandbox.targets import Resolved

BAD = {"full_page_writes": "off", "fsync": "off", "track_counts": "off"}


@pytest.fixture
def server(make: Callable[..., Sandbox]) -> Sandbox:
    sandbox = make("apply")
    sandbox.start(dict(BAD), keep=True)
    return sandbox


def resolved_of(sandbox: Sandbox) -> Resolved:
    return Resolved(sandbox.target, sandbox.secret, engine_named("postgresql"), sandbox)


def look(sandbox: Sandbox, folder: Path) -> Checked:
    options = Options(clock=SystemClock(), config=folder, token=secrets.token_hex(8), only=("PG*",))
    return audit(sandbox.target, sandbox.secret, engine_named("postgresql"), find_host("unknown", None), options)


def shown(sandbox: Sandbox) -> dict[str, object]:
    return {name: ask(sandbox, f"SHOW {name}")[0][0] for name in [*BAD, "shared_buffers"]}


def test_settings_are_applied_seen_and_undone(server: Sandbox, tmp_path: Path) -> None:
    before, checked = shown(server), look(server, tmp_path)
    failed = {one.rule for one in checked.findings if one.verdict is Verdict.FAIL}
    folder = tmp_path / "fixes"
    fixes.write(folder, checked)
    plan = fixes.read_plan(folder)
    assert plan.settings["full_page_writes"] == "on"
    assert "full_page_writes" in (folder / "server/90-dyno.conf").read_text()
    hand = TargetServer(resolved_of(server), SystemClock())
    outcome = apply(
        plan, folder, Machine(tmp_path), server=hand, recheck=lambda: look(server, tmp_path).findings, stamp="1"
    )
    assert not outcome.rolled_back, outcome.back
    after = look(server, tmp_path)
    still = {one.rule for one in after.findings if one.verdict is Verdict.FAIL}
    assert "PG002" in failed - still
    assert shown(server)["full_page_writes"] == "on"
    assert undo(folder, Machine(tmp_path), server=hand) == []
    assert shown(server) == before


def test_somebodys_server_is_changed_through_itself(server: Sandbox, tmp_path: Path) -> None:
    """Not as a sandbox: through the server's own session, and back to what its owner's file says."""
    before = shown(server)
    resolved = Resolved(server.target, server.secret, engine_named("postgresql"))
    hand = TargetServer(resolved, SystemClock())
    plan = fixes.Plan(target="t", settings={"full_page_writes": "on", "shared_buffers": "20000"}, restart=True)
    outcome = apply(plan, tmp_path / "fixes", Machine(tmp_path), server=hand, recheck=None, stamp="1")
    assert outcome.waiting == ("shared_buffers: restart",)
    assert shown(server) == {**before, "full_page_writes": "on"}
    assert undo(tmp_path / "fixes", Machine(tmp_path), server=hand) == []
    server.restart()
    assert shown(server) == before


def test_a_server_that_does_not_start_comes_back_as_it_was(server: Sandbox, tmp_path: Path) -> None:
    before = shown(server)
    plan = fixes.Plan(target="t", settings={"shared_buffers": "900TB"}, restart=True)
    hand = TargetServer(resolved_of(server), SystemClock())
    with pytest.raises(DynoError):
        apply(plan, tmp_path / "fixes", Machine(tmp_path), server=hand, recheck=None, stamp="1")
    assert server.running()
    assert shown(server) == before


def test_a_server_that_does_not_allow_it_is_left_alone(server: Sandbox) -> None:
    import msgspec

    resolved = resolved_of(server)
    target = msgspec.structs.replace(resolved.target, allow=frozenset({Permission.LOAD}))
    with pytest.raises(PermissionRefused, match="change its settings"):
        TargetServer(Resolved(target, resolved.secret, resolved.engine), SystemClock())
