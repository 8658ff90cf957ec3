"""Rivals of the causes after a start and of a slow volume: each example changed by one thing, and not named."""

from __future__ import annotations

import numpy as np
import pytest

from dbdyno.explain.registry import diagnoses
from dbdyno.model.example import Example
from dbdyno.model.finding import Finding
from dbdyno.model.recording import StallKind


def bad(cause: str) -> Example:
    [diagnosis] = [one for one in diagnoses() if one.id == cause]
    example = diagnosis.bad()
    assert isinstance(example, Example)
    assert named(cause, example), "unchanged it is named"
    return example


def named(cause: str, example: Example) -> list[Finding]:
    [diagnosis] = [one for one in diagnoses() if one.id == cause]
    found = (diagnosis.check(example, stall) for stall in (*example.stalls, None))
    return [one for one in found if one is not None]


def test_a_cache_that_misses_as_much_for_ever_is_not_cold() -> None:
    example = bad("cache-cold")
    example.curve("database.misses", lambda t: 100 + 5000 * (t > 62), role="cache_misses")
    assert not named("cache-cold", example)


def test_a_cache_that_missed_as_much_before_the_start_was_not_lost() -> None:
    example = bad("cache-cold")
    example.curve("database.misses", lambda t: 5000.0 * np.where(t < 62, 1, (120 - t) / 58), role="cache_misses")
    assert not named("cache-cold", example)


def test_without_a_start_no_cache_is_cold() -> None:
    example = bad("cache-cold")
    example.events = ()
    assert not named("cache-cold", example)


def test_throughput_that_does_not_climb_did_not_wait_for_the_cache() -> None:
    example = bad("cache-cold")
    example.throughput.values[62:] = 300
    assert not named("cache-cold", example)


def test_a_start_with_little_log_was_slow_for_another_reason() -> None:
    example = bad("slow-start")
    example.level("checkpoints.distance_bytes", 1e6, unit="B", role="checkpoint_distance_bytes")
    assert not named("slow-start", example)


def test_a_server_that_was_only_not_reachable_did_not_recover() -> None:
    example = bad("slow-start")
    example.events = tuple(one for one in example.events if one.kind != "restart")
    assert not named("slow-start", example)


@pytest.mark.parametrize("what", ["a burst", "a known limit", "a steady load"])
def test_a_flat_rate_has_rivals(what: str) -> None:
    example = bad("volume-rate-flat")
    if what == "a burst":
        example.curve("disk.read_bytes/vda", lambda t: np.where(t < 10, 3e8, 1.15e8), unit="B/s")
        example.curve("disk.reads/vda", lambda t: np.where(t < 10, 2400, 900))
    elif what == "a known limit":
        example.fact("host.cgroup_write_iops", 920)
    else:
        example.level("disk.queue_ms/vda", 8000, unit="ms/s")
    assert not named("volume-rate-flat", example)


@pytest.mark.parametrize("what", ["more flushes", "larger operations", "a lower level for good"])
def test_a_slow_operation_has_rivals(what: str) -> None:
    example = bad("volume-uneven")
    if what == "more flushes":
        example.level("disk.flushes/vda", 50, during=200)
    elif what == "larger operations":
        example.level("disk.write_bytes/vda", 1.3e7, during=1e8, unit="B/s")
    else:
        again = Example(kind=StallKind.DEGRADED)
        example.stalls = again.stalls
    assert not named("volume-uneven", example)


def test_reading_ahead_that_goes_unused_all_the_time_explains_no_stall() -> None:
    example = bad("read-ahead-unused")
    example.level("innodb.innodb_buffer_pool_read_ahead_evicted", 2500)
    assert not named("read-ahead-unused", example)


def test_the_temporary_tables_of_watching_are_no_cause() -> None:
    example = bad("temporary-tables-on-disk")
    example.level("server.created_tmp_disk_tables", 1, during=6, role="temp_spills")
    assert not named("temporary-tables-on-disk", example)
