"""False alarms: healthy servers of several kinds under moderate loads give no finding of severity warning or higher.

What other people do on the machine meanwhile may truly be named: such findings are kept in the table, and do not fail
the test. With DYNO_ACCEPT=1 the results go to `tests/fixtures/calm.json`, from which the table in
docs/reference/diagnoses.md is made. On an idle machine:

    DYNO_ACCEPT=1 .venv/bin/pytest -m engines_full tests/engines/test_explain_calm.py
    DYNO_ACCEPT=1 .venv/bin/pytest tests/unit/explain/test_diagnoses_page.py
"""

from __future__ import annotations

import fcntl
import json
import os
from dataclasses import dataclass
from pathlib import Path

import pytest
from explain_tools import CLOCK, Load, explained, grave, need_driver
from sandbox_tools import temporary_home

from dbdyno.engines.registry import engine_named
from dbdyno.model.errors import DynoError
from dbdyno.model.plan import WorkloadSpec
from dbdyno.run.driver import load_dataset
from dbdyno.sandbox.options import SandboxOptions
from dbdyno.sandbox.sandbox import create

pytestmark = [pytest.mark.engines_full, pytest.mark.timeout(600)]

CALM = Path(__file__).parents[1] / "fixtures/calm.json"
SECONDS = 27.0
OTHERS = {"other-programs", "bulk-reader", "bulk-writer", "processor-stolen"}
"""Name somebody else on the machine, and say whom."""


@dataclass(frozen=True)
class Calm:
    engine: str
    version: str
    server: str
    workload: str
    """Empty: nobody asks anything."""
    rate_per_s: float = 0.0


RECORDINGS = [
    Calm("postgresql", "15", "PostgreSQL 15", "tpcc", 10),
    Calm("postgresql", "15", "PostgreSQL 15", "oltp_read_write", 40),
    Calm("postgresql", "15", "PostgreSQL 15", ""),
    Calm("postgresql", "18", "PostgreSQL 18", "oltp_write_only", 60),
    Calm("postgresql", "18", "PostgreSQL 18", "oltp_point_select", 300),
    Calm("innodb", "10.11", "MariaDB 10.11, InnoDB", "tpcc", 10),
    Calm("innodb", "11.4", "MariaDB 11.4, InnoDB", "oltp_read_write", 40),
    Calm("innodb", "8.0.12", "MySQL 8.0.12, InnoDB", "oltp_write_only", 60),
    Calm("myrocks", "10.11", "MariaDB 10.11, MyRocks", "oltp_read_write", 40),
    Calm("innodb", "11.4", "MariaDB 11.4, InnoDB", ""),
]


@pytest.mark.parametrize("calm", RECORDINGS, ids=lambda one: f"{one.server}-{one.workload or 'idle'}".replace(" ", "-"))
def test_a_healthy_server_gives_no_warning(calm: Calm, tmp_path: Path) -> None:
    need_driver()
    load = None
    if calm.workload:
        options = {} if calm.workload == "tpcc" else {"tables": "1", "table_size": "50000"}
        workload = WorkloadSpec(name=calm.workload, options=options)
        load = Load(workload, SECONDS, threads=4, rate_per_s=calm.rate_per_s)
    with temporary_home(CLOCK) as home:
        try:
            box = create(home, engine_named(calm.engine), "calm", SandboxOptions(version=calm.version), clock=CLOCK)
        except DynoError as error:
            pytest.skip(f"{calm.server}: {error}")
        with box.held():
            box.start()
            if load is not None:
                load_dataset(box.target, box.secret, load.workload, threads=2, seed=1)
            found = explained(box, tmp_path / "run", load, seconds=SECONDS)
    _keep(calm, grave(found))
    wrong = [(one.finding.rule, one.finding.says) for one in found.findings if one.finding.rule in grave(found)]
    assert not set(grave(found)) - OTHERS, (wrong, found.stalls)


def _keep(calm: Calm, named: list[str]) -> None:
    if os.environ.get("DYNO_ACCEPT") != "1":
        return
    with CALM.open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        found = json.loads(file.read() or "{}")
        rate = f", {calm.rate_per_s:g} transactions a second" if calm.workload else ""
        found[f"{calm.server}: {calm.workload or 'idle'}"] = {
            "how": f"{SECONDS:.0f} s{rate}",
            "warnings": named,
        }
        file.truncate(0)
        file.write(json.dumps(found, indent=1, sort_keys=True) + "\n")
