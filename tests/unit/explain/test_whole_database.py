"""A cache that holds the whole database is not too small, and a handful of whole pages is no flood."""

from __future__ import annotations

import pytest

from dbdyno.engines.postgresql.diagnoses.cache_too_small import DIAGNOSIS as TOO_SMALL
from dbdyno.engines.postgresql.diagnoses.full_page_burst import DIAGNOSIS as BURST
from dbdyno.model.example import Example


@pytest.mark.parametrize(("database_bytes", "named"), [(56 << 20, False), (4 << 30, True)])
def test_reads_of_a_database_that_fits(database_bytes: int, named: bool) -> None:
    made = TOO_SMALL.bad()
    made.fact("server.database_bytes", database_bytes)
    assert (TOO_SMALL.check(made, made.stalls[0]) is not None) is named


@pytest.mark.parametrize(("pages_per_s", "named"), [(5, False), (50, True)])
def test_whole_pages_after_a_checkpoint(pages_per_s: float, named: bool) -> None:
    made = Example(lowest_per_s=5)
    made.level("wal.full_page_images", 0.1, during=pages_per_s)
    made.level("wal.position_bytes", 2e3, during=pages_per_s * 8192.0, role="wal_bytes")
    made.fact("setting.wal_compression", "off")
    assert (BURST.check(made, made.stalls[0]) is not None) is named
