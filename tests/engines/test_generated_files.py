"""A generated configuration, made without any server, starts each server that is here without a warning, and an audit
finds nothing to say about what it advised."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from sandbox_tools import temporary_home

from dbdyno.check.audit import Options, audit
from dbdyno.check.book import engine_module, engine_rules
from dbdyno.check.host import HostAt
from dbdyno.check.judge import judge_all
from dbdyno.check.machine import generate_for
from dbdyno.check.result import Generated
from dbdyno.check.server import derived
from dbdyno.cli.common import SystemClock
from dbdyno.engines.registry import engine_named
from dbdyno.model.fact import Fact
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Verdict
from dbdyno.sandbox.options import SandboxOptions
from dbdyno.sandbox.sandbox import Sandbox, create

GIB = 1 << 30
MACHINE = {"memory_bytes": 2 * GIB, "cores": 4, "disk": "nvme", "iops": 5000.0, "connections": 60,
           "workload": "read-mostly"}  # fmt: skip
WARNING = re.compile(r"\[Warning\]|\bWARNING:|\[ERROR\]|\bERROR:|\bFATAL:")
OF_THE_SANDBOX = re.compile(
    r"CA certificate|self.signed|the database system is starting up|Could not increase number of max_open_files|"
    r"io_uring|ignored in --skip-name-resolve mode|"
    r"Insecure configuration for --secure-file-priv|Insecure configuration for --pid-file"
)
"""Warnings of a plain server of ours, whatever its configuration."""


@dataclass(frozen=True)
class Case:
    product: str
    version: str


CASES = [
    Case("postgresql", "15"),
    Case("postgresql", "18"),
    Case("mariadb", "10.11"),
    Case("mariadb", "11.4"),
    Case("mysql", "8.0.12"),
    Case("mariadb+myrocks", "10.11"),
]


def made_for(case: Case) -> Generated:
    return generate_for(f"{case.product}:{case.version}", MACHINE)


@pytest.fixture(scope="module", params=CASES, ids=lambda case: f"{case.product}-{case.version}")
def case(request: pytest.FixtureRequest) -> Case:
    found: Case = request.param
    return found


@pytest.fixture(scope="module")
def server(case: Case, clock: SystemClock) -> Iterator[Sandbox]:
    engine = engine_named(case.product)
    if not any(
        re.split(r"[ -]", one.version_text)[0].startswith(case.version) for one in engine.recipe().installations()
    ):
        pytest.skip(f"no {case.product} {case.version} is installed")
    with temporary_home(clock) as home:
        box = create(home, engine, "generated", SandboxOptions(version=case.version), clock=clock)
        box.start(made_for(case).assignment)
        yield box
        box.stop("immediate")


def warnings(text: str) -> list[str]:
    return [line for line in text.splitlines() if WARNING.search(line) and not OF_THE_SANDBOX.search(line)]


def failed(box: Sandbox, clock: SystemClock, memory_bytes: int) -> list[Finding]:
    """What an audit finds on the machine that the configuration is for."""
    options = Options(clock=clock, config=Path("/nonexistent"), token="T" + "0" * 32, timeout_s=120.0)
    checked = audit(box.target, box.secret, box.engine, HostAt(label=""), options)
    values = {"server.memory_limit_bytes": memory_bytes, "host.disk_rotational": False, "host.cores": 4}
    machine = [Fact(name=name, value=value) for name, value in values.items()]
    known = [fact for fact in checked.facts if fact.name not in {one.name for one in machine}]
    facts = Facts(derived(engine_module(box.engine.name, "facts"), [*known, *machine]))
    return [one for one in judge_all(engine_rules(box.engine.name), facts)[0] if one.verdict is Verdict.FAIL]


def test_it_starts_without_a_warning(server: Sandbox, case: Case) -> None:
    log = server.log_tail(2000)
    assert log.strip(), "the log was read"
    assert not warnings(log), warnings(log)
    session = server.engine.connect(server.target, server.secret)
    try:
        now = session.settings()
        for name, value in made_for(case).assignment.items():
            if name in now:
                assert session.agrees(now[name], value), f"{name}: {now[name].value}, not {value}"
    finally:
        session.close()


def test_an_audit_has_nothing_to_say_of_its_advice(server: Sandbox, case: Case, clock: SystemClock) -> None:
    made = made_for(case)
    found = failed(server, clock, MACHINE["memory_bytes"])  # type: ignore[arg-type]
    own = [(one.rule, fix.name) for one in found for fix in one.fixes if fix.name in made.assignment]
    assert not own, own
    # The control: on another machine the same configuration is wrong, and that is seen.
    assert any(fix.name in made.assignment for one in failed(server, clock, GIB // 2) for fix in one.fixes)


def test_a_planted_warning_is_seen(server: Sandbox, case: Case) -> None:
    """The negative control of the log check, in the server's own words."""
    if case.product == "postgresql":
        planted = "2026-01-02 03:04:05 UTC [1] WARNING:  archive_mode enabled, yet archiving is not configured"
    else:
        planted = "2026-01-02  3:04:05 0 [Warning] 'innodb-large-prefix' was removed. It does nothing now"
    assert warnings(server.log_tail(2000) + "\n" + planted) == [planted]
