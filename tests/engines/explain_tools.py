"""What tests that provoke a cause share: a load, something done to the server meanwhile, and the verdict.

With DYNO_ACCEPT=1 what was provoked and what was named goes to `tests/fixtures/provoked.json`, from which the table in
docs/reference/diagnoses.md is made.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sandbox_tools import ask

from dbdyno.cli.common import SystemClock
from dbdyno.explain.explain import Explanation, explain_run
from dbdyno.model.errors import HostError
from dbdyno.model.finding import Severity
from dbdyno.model.plan import LoopMode, Phase, Plan, WorkloadSpec
from dbdyno.run.driver import find_driver
from dbdyno.run.execute import execute
from dbdyno.sandbox.sandbox import Sandbox

PROVOKED = Path(__file__).parents[1] / "fixtures/provoked.json"
CLOCK = SystemClock()


@dataclass
class Load:
    workload: WorkloadSpec
    seconds: float
    threads: int = 8
    rate_per_s: float = 0.0


def need_driver() -> None:
    try:
        find_driver()
    except HostError as error:
        pytest.skip(str(error))


def explained(
    box: Sandbox, folder: Path, load: Load | None, meanwhile: Callable[[], None] | None = None, *, seconds: float = 6.0
) -> Explanation:
    """Runs the load (None: records without one for `seconds`), does something meanwhile, and explains the record."""
    phase = Phase(name="recording", time_s=seconds)
    if load is not None:
        mode = LoopMode.OPEN if load.rate_per_s else LoopMode.CLOSED
        phase = Phase(name="measure", time_s=load.seconds, mode=mode, rate_per_s=load.rate_per_s)
    plan = Plan(
        verb="run" if load else "record",
        target=box.target,
        workload=load.workload if load else None,
        threads=load.threads if load else 1,
        seed=7,
        phases=(phase,),
    )
    thread = threading.Thread(target=meanwhile) if meanwhile else None

    def begin(event: dict[str, Any]) -> None:
        if thread and not thread.ident and event["event"] == "phase" and event.get("state") == "start":
            thread.start()

    execute(
        plan, box.secret, box.engine, clock=CLOCK, folder=folder, server_pids=box.server_pids, device=box.device(),
        data_folder=box.folder, on_event=begin,
    )  # fmt: skip
    if thread and thread.ident:
        thread.join()
    return explain_run(folder)


@contextlib.contextmanager
def connection(box: Sandbox) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
    target = box.target
    with psycopg.connect(host=target.host, port=target.port, user=target.user, dbname=target.database) as one:
        yield one


def set_all(box: Sandbox, **settings: str) -> None:
    """Settings that a reload brings into force; an empty word takes one back."""
    for name, value in settings.items():
        ask(box, f"ALTER SYSTEM SET {name} = '{value}'" if value else f"ALTER SYSTEM RESET {name}")
    ask(box, "SELECT pg_reload_conf()")
    CLOCK.sleep(0.3)


def grave(explanation: Explanation) -> list[str]:
    return [one.finding.rule for one in explanation.findings if one.finding.severity != Severity.ADVICE]


def named_at(explanation: Explanation, start_s: float, end_s: float) -> list[str]:
    """Causes of the stalls that overlap a window, the first first."""
    inside = {
        number for number, stall in enumerate(explanation.stalls) if stall.start_s < end_s and stall.end_s > start_s
    }
    return [
        one.finding.rule
        for one in explanation.findings
        if one.finding.severity != Severity.ADVICE and inside & set(one.stalls)
    ]


def keep(cause: str, how: str, named: list[str], *, server: str = "") -> None:
    """For the documentation, only when asked to: replaces the row of this cause (on this kind of server)."""
    if os.environ.get("DYNO_ACCEPT") != "1":
        return
    with PROVOKED.open("r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        found = json.load(file)
        found[f"{cause} on {server}" if server else cause] = {"how": how, "named": named}
        file.seek(0)
        file.write(json.dumps(found, indent=1, sort_keys=True) + "\n")
        file.truncate()
