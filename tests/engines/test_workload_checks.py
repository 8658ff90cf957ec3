"""The consistency conditions of the TPC-C-like workload hold after a load and after a run, and each one catches a
seeded corruption of its clause: the negative controls of `check`."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from sandbox_tools import ask, temporary_home

from dbdyno.cli.common import SystemClock
from dbdyno.model.engine import Engine
from dbdyno.model.plan import Phase, Plan, WorkloadSpec
from dbdyno.model.run import RunStatus
from dbdyno.run.driver import check_dataset, load_dataset
from dbdyno.run.execute import execute
from dbdyno.sandbox.options import SandboxOptions
from dbdyno.sandbox.sandbox import Sandbox, create

CORRUPTIONS = tomllib.loads((Path(__file__).parent / "tpcc_corruptions.toml").read_text())["corruption"]
CLAUSES = {f"3.3.2.{number}" for number in range(1, 13)}
TPCC = WorkloadSpec(name="tpcc", scale=1)


@pytest.fixture(scope="module")
def loaded(clock: SystemClock, engine: Engine) -> Iterator[Sandbox]:
    with temporary_home(clock) as home:
        sandbox = create(home, engine, "checks", SandboxOptions(), clock=clock)
        sandbox.start({})
        load_dataset(sandbox.target, sandbox.secret, TPCC, threads=4, seed=1)
        yield sandbox


def verdicts(sandbox: Sandbox) -> dict[str, str]:
    return {event["clause"]: event["verdict"] for event in check_dataset(sandbox.target, sandbox.secret, TPCC)}


def test_every_clause_has_a_corruption() -> None:
    assert {one["clause"] for one in CORRUPTIONS} == CLAUSES
    assert all(one["clause"] in one["fails"] for one in CORRUPTIONS)


def test_all_conditions_hold_after_the_load_and_after_a_run(
    loaded: Sandbox, engine: Engine, clock: SystemClock, tmp_path: Path
) -> None:
    assert verdicts(loaded) == dict.fromkeys(CLAUSES, "pass")
    plan = Plan(
        target=loaded.target,
        workload=TPCC,
        threads=8,
        seed=2,
        phases=(Phase(name="measure", events=2000),),
        sample=False,
    )
    outcome = execute(plan, loaded.secret, engine, clock=clock, folder=tmp_path / "run")
    assert outcome.status is RunStatus.DONE, outcome.error
    assert outcome.phases[0].count >= 1900
    assert verdicts(loaded) == dict.fromkeys(CLAUSES, "pass")


@pytest.mark.parametrize("corruption", CORRUPTIONS, ids=lambda one: one["clause"])
def test_a_seeded_corruption_is_caught_by_its_clause(loaded: Sandbox, corruption: dict[str, object]) -> None:
    ask(loaded, str(corruption["corrupt"]))
    try:
        failed = {clause for clause, verdict in verdicts(loaded).items() if verdict == "fail"}
    finally:
        ask(loaded, str(corruption["undo"]))
    assert failed == set(corruption["fails"])  # type: ignore[call-overload]
    assert verdicts(loaded) == dict.fromkeys(CLAUSES, "pass")
