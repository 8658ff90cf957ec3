"""Drills on a real MariaDB: they pass as they should, and what is broken is caught."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sandbox_tools import temporary_home

from dbdyno.cli.common import SystemClock
from dbdyno.crash.drill import drill as drills
from dbdyno.engines._mysql.backup import Backup
from dbdyno.engines.registry import engine_named
from dbdyno.model.drill import FAILOVER, RESTORE, DrillPlan, DrillResult
from dbdyno.model.errors import DynoError
from dbdyno.model.finding import Verdict
from dbdyno.run.driver import find_driver
from dbdyno.sandbox.options import SandboxOptions
from dbdyno.sandbox.sandbox import Sandbox, create

Drill = Callable[..., DrillResult]


@pytest.fixture(scope="module")
def sandbox(clock: SystemClock) -> Iterator[Sandbox]:
    with temporary_home(clock) as home:
        try:
            find_driver()
            made = create(home, engine_named("mariadb"), "d", SandboxOptions(), clock=clock)
        except DynoError as error:
            pytest.skip(f"no server or no load driver: {error}")
        if lacking := Backup().lacks(made.installation):
            pytest.skip(lacking)
        yield made


@pytest.fixture
def drill(sandbox: Sandbox, clock: SystemClock) -> Iterator[Drill]:
    def run(kind: str, **words: Any) -> DrillResult:
        plan = DrillPlan(kind=kind, load_s=0.2, accounts=200, pages=8)
        fields = {name: getattr(plan, name) for name in DrillPlan.__struct_fields__}
        with sandbox.held():
            return drills.drill(sandbox, DrillPlan(**{**fields, **words}), clock)

    yield run
    assert not (sandbox.folder / "drill").exists()


def failed(result: DrillResult) -> set[str]:
    return {check.name for check in result.checks if check.verdict is Verdict.FAIL}


def test_a_restore_to_a_place_in_the_log(drill: Drill) -> None:
    result = drill(RESTORE)
    assert (result.verdict, result.promise) == (Verdict.PASS, "pitr")
    assert result.required is not None
    assert result.acknowledged is not None
    assert 50 < result.required < result.acknowledged


def test_no_binary_log_is_caught(drill: Drill) -> None:
    result = drill(RESTORE, control="no-archive")
    assert failed(result) == {"archive"}
    assert "writes no binary log" in result.says


def test_a_recovery_past_the_moment_is_caught(drill: Drill) -> None:
    assert failed(drill(RESTORE, control="later")) == {"marker after", "sent after"}


def test_a_missing_log_is_caught(drill: Drill, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Backup.ship

    def ship(self: Backup, server: Any, archive: Path, clock: Any, timeout_s: float) -> str:
        says = honest(self, server, archive, clock, timeout_s)
        max(archive.iterdir()).unlink()
        return says

    monkeypatch.setattr(Backup, "ship", ship)
    result = drill(RESTORE)
    assert failed(result) == {"recovery"}
    assert "The archive lacks binlog.000001" in result.says


def test_a_replica_that_is_waited_for_loses_nothing(drill: Drill) -> None:
    result = drill(FAILOVER, synchronous=True)
    assert (result.verdict, result.lost) == (Verdict.PASS, 0)
    assert None not in (result.lag_max, result.promote_s)


def test_a_replica_that_was_cut_off_is_caught(drill: Drill) -> None:
    result = drill(FAILOVER, synchronous=True, control="cut-off")
    assert failed(result) == {"lost"}
    assert result.lost is not None
    assert result.lost >= 50
