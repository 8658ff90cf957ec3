"""The reader of SHOW ENGINE INNODB STATUS, on texts of twelve servers and on lines that only some versions write."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dbdyno.engines.innodb.status import EngineStatus, innodb_status_row, parse_status, parse_statuses
from dbdyno.engines.innodb.status.parse import UNREAD_MAX
from dbdyno.model.errors import UsageError
from dbdyno.model.record import from_json, to_dict, to_json

FOLDER = Path(__file__).parents[2] / "fixtures" / "innodb-status"
TEXTS = {path.stem: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.txt"))}

EXPECTED = {
    # name: (time, lsn, checkpoint age, history, pages dirty, pages free, OS writes, transactions in the list)
    "mysql-5.0": ("2015-05-15 18:25:10", 51296721, 0, 1, 0, 1, 7564, 1),
    "mysql-5.1": ("2015-03-10 10:34:58", 7220257512009, 0, 9, 0, 1, 134400134, 11),
    "mysql-5.5": ("2015-03-10 10:40:23", None, None, 3102, None, None, 816873637, 0),
    "mysql-5.6": ("2015-03-09 20:11:22", None, None, 649, None, None, None, 6),
    "mysql-5.7": ("2016-02-22 19:08:31", 379575319, 9, 775, 0, 64999, 55, 1),
    "percona-5.7": ("2016-09-14 19:04:38", 37771171, 9, 779, 0, 7684, 57, 1),
    "xtradb-5.5": ("2017-08-29 11:50:33", 1602283, 0, 1, 0, 8039, 174, 3),
    "mysql-8.0": ("2026-11-20 12:28:46", 113684472, 11528766, 20183, 1786, 1019, 115904, 30),
    "mariadb-10.5": ("2024-10-23 18:02:39", 62359978, 62314875, 0, 3236, 4675, 31762, 6),
    "mariadb-10.6": ("2024-10-23 18:05:51", 77575733, 6799773, 24, 401, 4897, 55363, 4),
    "mariadb-10.11": ("2026-11-20 12:28:05", 174551698, 5312490, 97852, 1632, 814, 42547, 32),
    "mariadb-11.4": ("2026-11-20 12:28:28", None, None, None, None, None, None, 32),
}
LATCH = """
=====================================
2026-01-01 00:00:00 0x7f INNODB MONITOR OUTPUT
=====================================
----------
SEMAPHORES
----------
--Thread 140 has waited at {at} line {line} for {waited} seconds the semaphore:
{latch}
"""


@pytest.mark.parametrize("name", TEXTS)
def test_the_figures_of_each_server_are_read(name: str) -> None:
    status = parse_status(TEXTS[name])
    read = (
        status.at,
        status.redo.lsn,
        status.redo.checkpoint_age_bytes,
        status.transactions.history_list_length,
        status.pool.pages_dirty,
        status.pool.pages_free,
        status.file_io.writes,
        len(status.transactions.list),
    )
    for found, expected in zip(read, EXPECTED[name], strict=True):
        assert found is not None
        assert expected is None or found == expected
    assert status.interval_s is not None
    assert from_json(to_json(status), EngineStatus) == status


@pytest.mark.parametrize("name", TEXTS)
def test_nothing_in_a_whole_text_is_left_unread(name: str) -> None:
    status = parse_status(TEXTS[name])
    unread = [line for line in status.unread if "no end mark" not in line]
    if name == "mysql-5.5":
        assert [line.partition(":")[0] for line in unread] == ["LATEST FOREIGN KEY ERROR"]
    else:
        assert unread == []
    assert status.complete == (name != "mariadb-10.5")


@pytest.mark.parametrize("name", TEXTS)
@settings(max_examples=60, deadline=None, derandomize=True)
@given(data=st.data())
def test_every_beginning_of_a_text_is_read_and_no_number_is_wrong(name: str, data: st.DataObject) -> None:
    text = TEXTS[name]
    length = data.draw(st.integers(min_value=0, max_value=len(text)))
    beginning_is_consistent(text, length)


def beginning_is_consistent(text: str, length: int) -> None:
    """What is read of a beginning is what is read of the whole, or is missing, and that is said."""
    whole, part = to_dict(parse_status(text)), to_dict(parse_status(text[:length]))
    if not part["complete"]:
        assert part["unread"]
    for section in ("background", "semaphores", "change_buffer", "redo", "pool", "rows", "file_io"):
        for field, value in part[section].items():
            # These sum or list what comes line by line.
            summed = field in ("threads", "waits", "hash_cells", "hash_heap_pages", "hash_parts")
            if value not in (None, "", [], {}) and not summed:
                assert value == whole[section][field], (section, field)
    for some, all_of_it in zip(part["transactions"]["list"], whole["transactions"]["list"], strict=False):
        assert (some["id"], some["state"], some["age_s"]) == (
            all_of_it["id"],
            all_of_it["state"] if some["state"] != "ACTIVE" else some["state"],
            all_of_it["age_s"],
        )
        assert all_of_it["query"].startswith(some["query"])


def test_a_text_without_its_beginning_gives_the_rest() -> None:
    text = TEXTS["mysql-8.0"]
    status = parse_status(text[text.index("---\nLOG\n---") :])
    assert status.redo.lsn == 113684472
    assert status.transactions.history_list_length is None
    assert "section TRANSACTIONS is not in the text" in status.unread
    assert "the heading with the time is missing" in status.unread


@pytest.mark.parametrize(
    "text",
    [
        "Hello\nWorld\n",
        "procs -----------memory----------\n r  b   swpd\n",
        '{"log": 1}\n',
        "2026-11-20 12:00:00 UTC [1] LOG: checkpoint\n",
        "---\nTHING\n---\nLog sequence number 5\n",
        "=====================================\n2026-11-20 12:00:00 ROCKSDB TRANSACTION MONITOR OUTPUT\n=======\n",
    ],
)
def test_somebody_elses_text_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not a status text"):
        parse_status(text)


@pytest.mark.parametrize(
    "wrap",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "Type\tName\tStatus\nInnoDB\t\t" + text.replace("\n", "\\n") + "\n",
        lambda text: (
            "*************************** 1. row ***************************\n  Type: InnoDB\n  Name: \nStatus: " + text
        ),
        lambda text: "\ufeff" + text,
    ],
    ids=["carriage returns", "batch mode", "vertical", "byte order mark"],
)
def test_the_frames_of_clients_are_taken_off(wrap) -> None:  # type: ignore[no-untyped-def]
    text = TEXTS["mysql-8.0"]
    assert to_dict(parse_status(wrap(text)))["redo"] == to_dict(parse_status(text))["redo"]
    assert parse_status(wrap(text)).unread == ()


def test_several_texts_in_one_file_are_several() -> None:
    found = parse_statuses(TEXTS["mysql-8.0"] + "some line of a log\n" + TEXTS["mariadb-10.11"])
    assert [one.at for one in found] == ["2026-11-20 12:28:46", "2026-11-20 12:28:05"]
    assert [one.redo.lsn for one in found] == [113684472, 174551698]


@pytest.mark.parametrize(
    ("at", "latch", "what", "how"),
    [
        # As “Tuning for heavy writing workloads” (2009) prints them for 5.1.39 with XtraDB 1.0.4.
        ("btr/btr0cur.c", "xx-lock on RW-latch at 0x7f2f created in file dict/dict0dict.c line 1627", "index lock", "line"),  # noqa: E501
        ("handler/ha_innodb.cc", "X-lock on RW-latch at 0xd30320 created in file dict/dict0dict.c line 623", "dict_operation_lock", "line"),  # noqa: E501
        ("trx/trx0undo.c", "Mutex at 0x1b3e3e78 created file trx/trx0rseg.c line 167, lock var 1", "rseg", "line"),
        ("srv/srv0srv.c", "Mutex at 0x28ce8e0 created file srv/srv0srv.c line 982, lock var 1", "kernel_mutex", "line"),
        # Another version's line: the file, or who waits, tells.
        ("trx0undo.c", "Mutex at 0x1b3e3e78 created file trx0rseg.c line 210, lock var 1", "rseg", "file"),
        ("lock0lock.c", "Mutex at 0x28ce8e0 created file srv0srv.c line 1040, lock var 1", "kernel_mutex", "file"),
        ("srv0srv.cc", "Mutex at 0x28ce8e0 created file srv0srv.cc line 1040, lock var 1", "srv_sys", "file"),
        ("btr0cur.cc", "X-lock (wait_ex) on RW-latch at 0xa3 created in file dict0dict.cc line 2420", "index lock", "caller"),  # noqa: E501
        ("row0mysql.cc", "S-lock on RW-latch at 0xa3 created in file dict0dict.cc line 923", "dict_operation_lock", "caller"),  # noqa: E501
        ("btr0sea.c", "S-lock on RW-latch at 0x2a96d920b8 created in file btr0sea.c line 139", "btr_search", "file"),
        ("btr0cur.cc", "S-lock on RW-latch at 0x7f4c created in file buf0buf.cc line 1433", "page latch", "file"),
        ("buf0buf.cc", "Mutex at 0x3c62d78 created file buf0buf.cc line 1219, lock var 1", "buf_pool", "file"),
        ("fil0fil.cc", "X-lock on RW-latch at 0x7f4c created in file fil0fil.cc line 1433", "tablespace", "file"),
        # Names in quotes, and names in capitals from 5.7 on.
        ("log0log.cc", "Mutex at 0x7f '&log_sys->mutex', lock var 1", "log_sys", "name"),
        ("btr0cur.cc", "S-lock on RW-latch at 0x7f '&block->lock'", "page latch", "name"),
        ("buf0buf.cc", "Mutex at 0x3c62d78, Mutex BUF_POOL created buf0buf.cc:1731, lock var 0", "buf_pool", "name"),
        ("trx0trx.cc", "Mutex at 0x3c62d78, Mutex TRX_SYS created trx0sys.cc:554, lock var 2", "trx_sys", "name"),
        ("btr0cur.cc", "SX-lock on RW-latch at 0x7ff7 created in file dict0dict.cc line 2737", "index lock", "caller"),
        ("xyz0new.cc", "Mutex at 0x3c62d78, Mutex BRAND_NEW created xyz0new.cc:1, lock var 2", "brand_new", "name"),
        ("xyz0new.cc", "Mutex at 0x3c62d78 created file xyz0new.cc line 5, lock var 1", "unknown", ""),
    ],
)  # fmt: skip
def test_a_latch_is_named_by_what_it_protects(at: str, latch: str, what: str, how: str) -> None:
    text = LATCH.format(at=at, line=100, waited="2.50", latch=latch)
    (wait,) = parse_status(text).semaphores.waits
    assert (wait.object, wait.object_by) == (what, how)
    assert (wait.at_file, wait.at_line, wait.waited_s) == (at, 100, 2.5)


def test_the_holder_of_a_latch_is_kept() -> None:
    latch = (
        "SX-lock on RW-latch at 0x7ff7 created in file dict0dict.cc line 2737\n"
        "a writer (thread id 140701151057664) has reserved it in mode  SX\n"
        "number of readers 0, waiters flag 1, lock_word: 10000000\n"
        "Last time read locked in file btr0cur.cc line 1008\n"
        "Last time write locked in file btr0cur.cc line 976"
    )
    status = parse_status(LATCH.format(at="btr0cur.cc", line=976, waited="0.00", latch=latch))
    (wait,) = status.semaphores.waits
    assert (wait.kind, wait.holder_thread, wait.holder_mode) == ("SX", "140701151057664", "SX")
    assert not [line for line in status.unread if line.startswith("SEMAPHORES")]


def test_old_positions_and_ages_of_percona_builds() -> None:
    log = """---
LOG
---
Log sequence number 2 1059494372
Log flushed up to   2 1059494372
Last checkpoint at  2 1055251010
Max checkpoint age    162361775
Checkpoint age target 104630090
Modified age          4092465
Checkpoint age        4243362
0 pending log writes, 0 pending chkp writes
"""
    redo = parse_status(log).redo
    assert redo.lsn == (2 << 32) + 1059494372
    assert redo.checkpoint_age_bytes == 4243362
    assert redo.checkpoint_age_max_bytes == 162361775
    assert redo.checkpoint_age_target_bytes == 104630090
    assert redo.modified_age_bytes == 4092465


def test_lines_of_later_versions_are_known() -> None:
    log = """---
LOG
---
Log sequence number          913016863
Log buffer assigned up to    913016863
Log flushed up to            913014959
Pages flushed up to          865191733
Last checkpoint at           865191733
Log minimum file id is       9
Log maximum file id is       12
26 log i/o's done, 0.00 log i/o's/second
"""
    status = parse_status(log)
    assert status.redo.checkpoint_age_bytes == 913016863 - 865191733
    assert not [line for line in status.unread if line.startswith("LOG")]


def test_an_unknown_line_is_said_and_many_are_counted() -> None:
    text = "---\nLOG\n---\nLog sequence number 5\n" + "".join(f"Strange thing {number}\n" for number in range(60))
    unread = parse_status(text).unread
    assert "LOG: Strange thing 0" in unread
    assert unread[-1] == f"and {60 - UNREAD_MAX} more lines that are not known"
    assert len(unread) < UNREAD_MAX + 20


def test_deadlocks_name_both_sides_and_the_victim() -> None:
    deadlock = parse_status(TEXTS["mariadb-10.11"]).deadlock
    assert deadlock is not None
    first, second = deadlock.sides
    assert deadlock.rolled_back == 1
    assert first.transaction is not None
    assert first.transaction.query == "update acc set v=v+10 where id=1 /* second */"
    assert first.waits_for is not None
    assert first.waits_for.table == "test.acc"
    assert first.waits_for.index == "PRIMARY"
    assert second.holds is not None
    assert second.holds.trx == "277"
    older = parse_status(TEXTS["mysql-8.0"]).deadlock
    assert older is not None
    assert older.rolled_back == 1
    assert older.sides[1].holds is not None
    assert older.sides[1].holds.mode == "X locks rec but not gap"


def test_lock_waits_transactions_and_who_holds_back_purge() -> None:
    transactions = parse_status(TEXTS["mariadb-10.11"]).transactions
    assert [one.thread for one in transactions.waiting] == [59, 58]
    wait = transactions.waiting[0].waiting
    assert wait is not None
    assert wait.waited_s == pytest.approx(12.026278)
    holder = transactions.purge_holder
    assert holder is not None
    assert holder.thread == 33
    assert holder.read_view
    prepared = next(one for one in transactions.list if one.id == "195962")
    assert (prepared.state, prepared.doing, prepared.undo_entries, prepared.query) == (
        "ACTIVE (PREPARED)",
        "preparing",
        4,
        "COMMIT",
    )
    foreign = parse_status(TEXTS["mariadb-10.11"]).foreign_key_error
    assert foreign is not None
    assert (foreign.table, foreign.constraint) == ("test.child", "child_ibfk_1")
    assert foreign.query == "insert into child values(1,99)"


def test_a_list_that_the_server_shortened_is_said() -> None:
    text = TEXTS["mysql-5.1"].replace("---TRANSACTION 39009CD30", "... truncated...\n---TRANSACTION 39009CD30", 1)
    status = parse_status(text)
    assert status.transactions.shortened
    assert any("left out a part of the list" in line for line in status.unread)


def test_the_row_of_the_probe_leaves_out_what_is_not_there() -> None:
    row = innodb_status_row(TEXTS["xtradb-5.5"])
    assert row["checkpoint_age_limit_bytes"] == 7782360
    assert row["lock_wait_table"] == "test.test (1)"
    assert "checkpoint_age_limit_bytes" not in innodb_status_row(TEXTS["mysql-8.0"])
    assert innodb_status_row(TEXTS["mysql-8.0"])["latch_object"] == "lock_sys (1)"
    cut = TEXTS["mysql-8.0"][:200]
    assert set(innodb_status_row(cut)) == {"unread"}


@pytest.mark.parametrize("digits", [19, 25, 5000])
def test_absurd_numbers_are_unread_and_not_an_error(digits: int) -> None:
    many = "9" * digits
    text = (
        f"---\nLOG\n---\nLog sequence number {many}\nLast checkpoint at {many}\n----\nTRANSACTIONS\n----\n"
        f"History list length {many}\n---TRANSACTION 1, ACTIVE {many} sec\nMySQL thread id {many}\n"
    )
    status = parse_status(text)
    assert status.unread
    assert status.transactions.history_list_length is None
    assert to_json(status)


def test_a_text_of_nothing_but_line_ends_is_refused_at_once() -> None:
    with pytest.raises(UsageError, match="not a status text"):
        parse_status("\\n" * 300_000)
