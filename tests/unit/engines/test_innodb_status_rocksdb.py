"""The reader of SHOW ENGINE ROCKSDB STATUS."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dbdyno.engines.myrocks.status import parse_status, rocksdb_status_row
from dbdyno.model.errors import UsageError

FOLDER = Path(__file__).parents[2] / "fixtures" / "rocksdb-status"
TEXT = (FOLDER / "mariadb-10.11.txt").read_text(encoding="utf-8")


def test_a_servers_answer_is_read_wholly() -> None:
    status = parse_status(TEXT)
    assert status.unread == ()
    assert status.counts["block.cache.miss"] == 58391
    assert (status.stall_s, status.stall_pct) == (0.084, 0.3)
    family = next(one for one in status.families if one.name == "default")
    assert [(level.name, level.files) for level in family.levels] == [
        ("L0", 0), ("L1", 4), ("L2", 43), ("L6", 2), ("Sum", 49),
    ]  # fmt: skip
    assert family.stalls["l0_slowdowns"] == 6
    assert family.stalls["memtable_stops"] == 3
    assert status.memory["MemTable Total"] == 5256288


def test_the_row_of_the_probe() -> None:
    row = rocksdb_status_row(TEXT)
    assert row["l0_slowdowns"] == 6
    assert row["write_amplification"] == 4.6
    assert row["unread"] == 0
    assert row["size_bytes"] == pytest.approx(43685622)


def test_the_later_form_of_the_stall_line() -> None:
    text = """** Compaction Stats [default] **
  L0      3/1   14.95 MB   1.5      0.0     0.0      0.0       0.0      0.0       0.0   1.0      0.0     16.1      3.01              2.51        59    0.051       0      0       0.0       0.0
 Sum     49/1   41.66 MB   0.0      0.2     0.1      0.1       0.2      0.1       0.0   4.6     37.2     46.1      4.84              3.91       115    0.042    912K    78K       0.0       0.0
Write Stall (count): cf-l0-file-count-limit-delays-with-ongoing-compaction: 2, l0-file-count-limit-delays: 5, l0-file-count-limit-stops: 1, memtable-limit-delays: 0, memtable-limit-stops: 7, pending-compaction-bytes-delays: 3, pending-compaction-bytes-stops: 0, total-delays: 8, total-stops: 8
"""  # noqa: E501
    row = rocksdb_status_row(text)
    assert (row["l0_slowdowns"], row["l0_stops"], row["memtable_stops"]) == (5, 1, 7)
    assert row["pending_compaction_slowdowns"] == 3
    assert (row["files_l0"], row["compacting_files"], row["score_max"]) == (3, 1, 1.5)
    assert "stall_s" not in row


@pytest.mark.parametrize("text", ["Hello\n", "", "=====\n2026-01-01 00:00:00 0x7f INNODB MONITOR OUTPUT\n====\n"])
def test_somebody_elses_text_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not a status text"):
        parse_status(text)


@settings(max_examples=80, deadline=None, derandomize=True)
@given(length=st.integers(min_value=1, max_value=len(TEXT)))
def test_every_beginning_gives_right_numbers_or_none(length: int) -> None:
    whole = parse_status(TEXT)
    try:
        part = parse_status(TEXT[:length])
    except UsageError:
        assert "COUNT : 58391\n" not in TEXT[:length]
        return
    if length < len(TEXT) - 200:
        assert part.unread
    assert part.counts.items() <= whole.counts.items()
    assert part.memory.items() <= whole.memory.items()
    levels = {(family.name, level.name): level for family in whole.families for level in family.levels}
    for family in part.families:
        for level in family.levels:
            assert levels[family.name, level.name] == level
