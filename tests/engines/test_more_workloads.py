"""The heavy-update and the secondary-index load: their conditions hold after a load and after a run, and each catches
a seeded corruption."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sandbox_tools import ask, temporary_home

from dbdyno.cli.common import SystemClock
from dbdyno.model.engine import Engine
from dbdyno.model.plan import Phase, Plan, WorkloadSpec
from dbdyno.model.run import RunStatus
from dbdyno.run.driver import check_dataset, cleanup_dataset, load_dataset
from dbdyno.run.execute import execute
from dbdyno.sandbox.options import SandboxOptions
from dbdyno.sandbox.sandbox import Sandbox, create

WORKLOADS = [
    WorkloadSpec(name="heavy_update"),
    WorkloadSpec(name="heavy_update", options={"partitions": "3"}),
    WorkloadSpec(name="secondary_scan"),
]
CORRUPTIONS = {
    "heavy_update": {
        "objects": "DELETE FROM stress_object WHERE ref = 7",
        "history": "DELETE FROM stress_history WHERE ref = 9 AND line = 3",
        "orphans": "INSERT INTO stress_history VALUES (0, 1, 0, '')",
    },
    "secondary_scan": {
        "balance": "UPDATE account SET balance = balance + 1 WHERE account = 5",
        "volume": "UPDATE security SET volume = 0 WHERE security = 5",
        "state": "UPDATE trade SET state = 'X' WHERE trade_id = 1",
    },
}


@pytest.fixture(scope="module")
def sandbox(clock: SystemClock, engine: Engine) -> Iterator[Sandbox]:
    with temporary_home(clock) as home:
        sandbox = create(home, engine, "loads", SandboxOptions(), clock=clock)
        sandbox.start({})
        yield sandbox


def verdicts(sandbox: Sandbox, workload: WorkloadSpec) -> dict[str, str]:
    return {event["clause"]: event["verdict"] for event in check_dataset(sandbox.target, sandbox.secret, workload)}


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda one: "-".join([one.name, *one.options.values()]))
def test_conditions_hold_after_load_and_run_and_catch_corruption(
    sandbox: Sandbox, engine: Engine, clock: SystemClock, tmp_path: Path, workload: WorkloadSpec
) -> None:
    corruptions = CORRUPTIONS[workload.name]
    healthy = dict.fromkeys(corruptions, "pass")
    load_dataset(sandbox.target, sandbox.secret, workload, threads=2, seed=1)
    assert verdicts(sandbox, workload) == healthy
    plan = Plan(
        target=sandbox.target, workload=workload, threads=8, seed=2,
        phases=(Phase(name="measure", events=3000),), sample=False,
    )  # fmt: skip
    outcome = execute(plan, sandbox.secret, engine, clock=clock, folder=tmp_path / "run")
    assert outcome.status is RunStatus.DONE, outcome.error
    counts = {kind: words["count"] for kind, words in outcome.phases[0].transactions.items()}
    assert all(count > 0 for count in counts.values())
    assert sum(counts.values()) >= 2900
    assert verdicts(sandbox, workload) == healthy
    for clause, statement in corruptions.items():
        ask(sandbox, statement)
        assert verdicts(sandbox, workload)[clause] == "fail", clause
    cleanup_dataset(sandbox.target, sandbox.secret, workload)
