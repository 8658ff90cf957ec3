"""What diagnoses advise can be tried: every setting that is a knob has a value which that knob takes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dbdyno.engines.registry import engines
from dbdyno.explain.diagnose import diagnose
from dbdyno.explain.registry import diagnoses
from dbdyno.model.example import Example
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Fix
from dbdyno.model.knob import KnobSpace
from dbdyno.model.machine import DiskClass, Machine
from dbdyno.model.recording import Recording
from dbdyno.model.trial import Cause
from dbdyno.tune import guide

MACHINE = Machine(memory_bytes=8 << 30, cores=4, disk=DiskClass.SSD, iops=3000.0)
VERSIONS = {"postgresql": (140000, 150018, 180000), "innodb": (80040, 80400, 1101119, 1110800), "myrocks": (1101119,)}
SPACES = [
    pytest.param(name, engines()[name].knobs(MACHINE, version), version, id=f"{name}-{version}")
    for name, versions in VERSIONS.items()
    for version in versions
]


def advised(recording: Recording, engine: str) -> Iterator[tuple[str, Fix]]:
    ranked, _unknown = diagnose(recording, diagnoses(engine))
    for one in ranked:
        for fix in one.finding.fixes:
            if fix.kind == "setting":
                yield one.finding.rule, fix


@pytest.mark.parametrize(("engine", "space", "version"), SPACES)
def test_every_advised_setting_that_is_a_knob_has_a_value_that_it_takes(
    engine: str, space: KnobSpace, version: int
) -> None:
    tried = 0
    for diagnosis in diagnoses(engine):
        example = diagnosis.bad()
        assert isinstance(example, Example)
        example.fact("server.version", version)
        for rule, fix in advised(example, engine):
            knob = space.knob(fix.name)
            if knob is None:
                continue
            found = guide.changed({}, Cause(rule=rule, says="", changes={fix.name: fix.value}), (knob,), 1.0)
            # Nothing that a knob does not take is left, and what is left is in the knob's range.
            assert fix.name in found, (rule, fix.name, fix.value)
            assert knob.admits(found[fix.name]), (rule, fix.name, fix.value)
            tried += 1
    assert tried


def of_rule(engine: str, rule: str, **facts: str | int) -> dict[str, str]:
    example = next(one for one in diagnoses(engine) if one.id == rule).bad()
    assert isinstance(example, Example)
    for name, value in facts.items():
        example.fact(name.replace("__", "."), value)
    return {fix.name: fix.value for found, fix in advised(example, engine) if found == rule}


def test_commits_that_wait_for_the_binary_log_lead_to_larger_groups() -> None:
    first = of_rule("innodb", "binlog-sync-bound")
    assert list(first) == ["binlog_commit_wait_count", "binlog_commit_wait_usec"]
    assert 2 <= int(first["binlog_commit_wait_count"]) <= 8
    assert first["binlog_commit_wait_usec"] == "1000"


def test_a_wait_that_is_there_already_is_doubled_up_to_a_bound() -> None:
    waits = {"setting__binlog_commit_wait_count": 4, "setting__binlog_commit_wait_usec": 1000}
    for rule in ("binlog-sync-bound", "group-commit-absent"):
        assert of_rule("innodb", rule, **waits)["binlog_commit_wait_usec"] == "2000"
        long = {**waits, "setting__binlog_commit_wait_usec": 9000}
        assert of_rule("innodb", rule, **long)["binlog_commit_wait_usec"] == "10000"


def test_the_other_family_s_server_has_another_name_for_it() -> None:
    example = next(one for one in diagnoses("innodb") if one.id == "binlog-sync-bound").bad()
    assert isinstance(example, Example)
    example.facts = Facts([one for one in example.facts if "commit_wait" not in one.name])
    first = {fix.name: fix.value for _rule, fix in advised(example, "innodb")}
    assert first == {"binlog_group_commit_sync_delay": "500", "binlog_group_commit_sync_no_delay_count": "6"}
    example.fact("setting.binlog_group_commit_sync_delay", 500)
    assert {fix.value for _rule, fix in advised(example, "innodb")} == {"1000", "6"}


def test_commits_that_wait_for_the_log_lead_to_a_shared_sync() -> None:
    assert of_rule("postgresql", "log-sync-bound") == {"commit_delay": "500"}
    doubled = of_rule("postgresql", "log-sync-bound", setting__commit_delay=500, setting__commit_siblings=10)
    assert doubled == {"commit_delay": "1000", "commit_siblings": "7"}
    assert of_rule("postgresql", "log-sync-bound", setting__commit_delay=5000) == {}


def test_whole_pages_are_compressed_by_a_named_method_else_checkpoints_come_later() -> None:
    rule = "full-page-burst"
    assert of_rule("postgresql", rule, server__version=140000) == {"wal_compression": "on"}
    assert of_rule("postgresql", rule, server__version=150000) == {"wal_compression": "pglz"}
    apart = {"setting__wal_compression": "lz4", "setting__checkpoint_timeout": 300, "setting__max_wal_size": 1 << 30}
    assert of_rule("postgresql", rule, **apart) == {"checkpoint_timeout": "600", "max_wal_size": "2048"}
    assert of_rule("postgresql", rule, setting__wal_compression="lz4") == {}
