"""Causes in the server's control group, and the rivals that each must be told from."""

from __future__ import annotations

import numpy as np

from dbdyno.explain.diagnose import diagnose
from dbdyno.explain.registry import diagnoses
from dbdyno.model.example import Example

OF_GROUPS = [
    one for one in diagnoses() if one.id in {"write-cache-swap", "memory-group-limit", "processor-group-limit"}
]
MIB = float(1 << 20)


def group(*, cached: float, dirty: float, swapped: float) -> Example:
    """A group of 256 MiB at its limit in the stall; sizes in MiB there, and what went to swap from its start on."""
    example = Example()
    example.level("memory_group.limit_bytes/db", 256 * MIB, unit="B")
    example.level("memory_group.used_bytes/db", 200 * MIB, during=255 * MIB, unit="B")
    example.level("memory_group.limit_hits/db", 0, during=500)
    example.level("memory_group.killed/db", 0)
    example.level("memory_group.cached_bytes/db", 60 * MIB, during=cached * MIB, unit="B")
    example.level("memory_group.dirty_bytes/db", 0, during=dirty * MIB, unit="B")
    example.curve("memory_group.swapped_bytes/db", lambda t: swapped * MIB * np.clip((t - 60) / 8, 0, 1), unit="B")
    return example


def named(example: Example) -> list[str]:
    return [one.finding.rule for one in diagnose(example, OF_GROUPS)[0]]


def test_dirty_pages_that_push_programs_into_swap_are_named_before_the_limit() -> None:
    assert named(group(cached=140, dirty=90, swapped=40)) == ["write-cache-swap", "memory-group-limit"]


def test_programs_that_outgrow_their_group_are_no_write_cache() -> None:
    assert named(group(cached=10, dirty=9, swapped=40)) == ["memory-group-limit"]


def test_a_cache_of_reads_is_no_write_cache() -> None:
    assert named(group(cached=140, dirty=2, swapped=40)) == ["memory-group-limit"]


def test_without_swap_only_the_limit_is_met() -> None:
    assert named(group(cached=140, dirty=90, swapped=0)) == ["memory-group-limit"]


def quota(*, usual: float, during: float, periods: float = 10) -> Example:
    example = Example()
    example.level("processor_group.quota_cores/db", 2)
    example.level("processor_group.periods/db", periods)
    example.level("processor_group.throttled_periods/db", usual, during=during)
    example.level("processor_group.throttled_s/db", 0)
    return example


def test_a_quota_that_is_always_used_up_explains_no_single_stall() -> None:
    [one] = diagnose(quota(usual=9, during=9), OF_GROUPS)[0]
    assert (one.finding.rule, one.stalls, str(one.finding.severity)) == ("processor-group-limit", (), "advice")


def test_a_group_that_hardly_runs_is_not_held_back() -> None:
    assert named(quota(usual=0, during=1, periods=1)) == []


def test_a_quota_that_is_rarely_used_up() -> None:
    assert named(quota(usual=1, during=3)) == []
    assert named(quota(usual=1, during=7)) == ["processor-group-limit"]
