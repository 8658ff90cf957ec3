"""Pages that were read ahead are nobody's misses."""

from __future__ import annotations

import pytest

from dbdyno.engines.innodb.diagnoses.buffer_pool_too_small import DIAGNOSIS as TOO_SMALL
from dbdyno.engines.innodb.diagnoses.read_ahead_unused import DIAGNOSIS as UNUSED
from dbdyno.model.example import Example


def reading(*, ahead: float, asked: float) -> Example:
    """A full pool; the server counts what random read-ahead fetched among what it had to read."""
    example = Example(stall=None)
    example.level("innodb.innodb_buffer_pool_reads", asked + ahead, role="cache_misses")
    example.level("innodb.innodb_pages_read", asked + ahead)
    example.level("innodb.innodb_buffer_pool_read_ahead", 0)
    example.level("innodb.innodb_buffer_pool_read_ahead_rnd", ahead)
    example.level("innodb.innodb_buffer_pool_read_ahead_evicted", 0.6 * ahead)
    example.level("data.hits", 10000, role="cache_hits")
    example.level("innodb.innodb_buffer_pool_pages_free", 50)
    example.level("innodb.innodb_buffer_pool_pages_total", 8192)
    example.fact("setting.innodb_read_ahead_threshold", 56)
    example.fact("setting.innodb_random_read_ahead", True)
    return example


@pytest.mark.parametrize(
    ("ahead", "asked", "named"), [(400, 80, ["read-ahead-unused"]), (0, 480, ["buffer-pool-too-small"])]
)
def test_which_of_the_two_it_is(ahead: float, asked: float, named: list[str]) -> None:
    made = reading(ahead=ahead, asked=asked)
    assert [one.id for one in (TOO_SMALL, UNUSED) if one.check(made, None)] == named
