"""Causes of stalls, provoked on real servers: each is named first where it was at work, and on a calm run none is."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from explain_tools import CLOCK, Load, connection, explained, grave, keep, named_at, need_driver, set_all
from sandbox_tools import ask, temporary_home

from dbdyno.engines.registry import engine_named
from dbdyno.model.errors import DynoError
from dbdyno.model.plan import WorkloadSpec
from dbdyno.run.driver import load_dataset
from dbdyno.sandbox.options import Disk, SandboxOptions
from dbdyno.sandbox.sandbox import Sandbox, create

ACCOUNTS = WorkloadSpec(name="tpcb")
PROVOKED_HERE = {
    "table-lock-queue", "row-lock-convoy", "replica-wait", "checkpoint-forced-by-log", "slot-holds-log", "old-snapshot",
    "bulk-writer", "archiver-behind", "cleaning-starved", "temporary-files", "server-restarted",
    "memory-group-limit",
}  # fmt: skip


@pytest.fixture(scope="module")
def box() -> Iterator[Sandbox]:
    """A server on the disk that is there, with the accounts."""
    need_driver()
    with temporary_home(CLOCK) as home:
        box = create(home, engine_named("postgresql"), "causes", SandboxOptions(), clock=CLOCK)
        with box.held():
            box.start()
            load_dataset(box.target, box.secret, ACCOUNTS, threads=2, seed=1)
            yield box


@pytest.fixture(scope="module")
def small_disk() -> Iterator[Sandbox]:
    """A server on a volume of 300 operations a second, with a table that many different rows are changed of."""
    need_driver()
    options = SandboxOptions(disk=Disk.XFS, iops=300, size_bytes=2 << 30)
    with temporary_home(CLOCK) as home:
        try:
            box = create(home, engine_named("postgresql"), "small", options, clock=CLOCK)
        except DynoError as error:
            pytest.skip(str(error))
        if not box.record.options.iops:
            pytest.skip("this machine cannot limit a volume: " + "; ".join(box.notes))
        with box.held():
            box.start()
            with box._unlimited():
                ask(box, "SELECT pg_create_physical_replication_slot('gone', true)")
                load_dataset(box.target, box.secret, changes(300_000), threads=2, seed=1)
                ask(box, "CHECKPOINT")
            yield box


def changes(rows: int) -> WorkloadSpec:
    return WorkloadSpec(name="oltp_write_only", options={"tables": "1", "table_size": str(rows)})


def test_three_queues_in_one_run_are_told_apart(box: Sandbox, tmp_path: Path) -> None:
    """A statement that wants a table alone, a transaction that sleeps on a row, a replica that is not there."""

    def meanwhile() -> None:
        CLOCK.sleep(6)
        with connection(box) as reader, connection(box) as changer:
            reader.execute("SELECT count(*) FROM pgbench_branches")

            def alter() -> None:
                changer.execute("ALTER TABLE pgbench_branches ADD COLUMN extra int")
                changer.rollback()

            thread = threading.Thread(target=alter)
            thread.start()
            CLOCK.sleep(3)
            reader.rollback()
            thread.join()
        CLOCK.sleep(3)
        with connection(box) as sleeper:
            sleeper.execute("UPDATE pgbench_branches SET bbalance = bbalance + 1")
            CLOCK.sleep(3)
            sleeper.rollback()
        CLOCK.sleep(3)
        set_all(box, synchronous_standby_names="nobody")
        CLOCK.sleep(3)
        set_all(box, synchronous_standby_names="")

    found = explained(box, tmp_path / "run", Load(ACCOUNTS, 25, rate_per_s=100), meanwhile)
    for cause, how, start_s, end_s in (
        ("table-lock-queue", "ALTER TABLE behind an open transaction", 6, 9),
        ("row-lock-convoy", "a transaction that sleeps on the row that all want", 12, 15),
        ("replica-wait", "synchronous_standby_names names a replica that is not there", 18, 21),
    ):
        named = named_at(found, start_s, end_s)
        assert named[:1] == [cause], (cause, named, found.stalls)
        keep(cause, how, named)


def test_a_snapshot_that_is_held(box: Sandbox, tmp_path: Path) -> None:
    def meanwhile() -> None:
        CLOCK.sleep(1)
        with connection(box) as holder:
            holder.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
            holder.execute("SELECT count(*) FROM pgbench_branches")
            # Snapshots are asked for every five seconds: the answer after fifteen must still see this one.
            CLOCK.sleep(17)
            holder.rollback()

    set_all(box, synchronous_commit="off")
    found = explained(box, tmp_path / "run", Load(ACCOUNTS, 19, threads=2), meanwhile)
    set_all(box, synchronous_commit="")
    [one] = [one.finding for one in found.findings if one.finding.rule == "old-snapshot"]
    assert "idle in transaction" in one.says
    assert any(fix.name == "idle_in_transaction_session_timeout" for fix in one.fixes)
    keep(
        "old-snapshot", "a transaction of 17 s under updates of the same rows", [x.finding.rule for x in found.findings]
    )


def test_sorts_that_spill(box: Sandbox, tmp_path: Path) -> None:
    def meanwhile() -> None:
        with connection(box) as sorter:
            sorter.execute("SET work_mem = '64kB'")
            end_s = CLOCK.monotonic() + 8
            while CLOCK.monotonic() < end_s:
                sorter.execute("SELECT count(*) FROM (SELECT * FROM pgbench_accounts ORDER BY filler, aid) AS sorted")
                sorter.commit()

    found = explained(box, tmp_path / "run", Load(ACCOUNTS, 9, rate_per_s=20, threads=4), meanwhile)
    named = [one.finding.rule for one in found.findings]
    assert "temporary-files" in named
    keep("temporary-files", "sorts of 100,000 rows in 64 kB", named)


def test_tables_that_nobody_cleans_and_an_archive_that_cannot_be_reached(box: Sandbox, tmp_path: Path) -> None:
    box.restart({"archive_mode": "on", "archive_command": "false", "autovacuum": "off", "autovacuum_naptime": 1})
    ask(box, "UPDATE pgbench_accounts SET abalance = abalance + 1")

    def meanwhile() -> None:
        for _ in range(3):
            ask(box, "SELECT pg_switch_wal()")
            CLOCK.sleep(1.5)

    thread = threading.Thread(target=meanwhile)
    thread.start()
    found = explained(box, tmp_path / "run", None, seconds=8)
    thread.join()
    box.restart({})
    ask(box, "VACUUM pgbench_accounts")
    assert sorted(grave(found)) == ["archiver-behind", "cleaning-starved"]
    assert any("pgbench_accounts" in one.finding.says for one in found.findings)
    keep("archiver-behind", "archive_command = 'false'", grave(found))
    keep("cleaning-starved", "autovacuum off, a table whose rows were all changed, in the same record", grave(found))


def test_checkpoints_that_the_log_forces_and_a_slot_that_keeps_it(small_disk: Sandbox, tmp_path: Path) -> None:
    set_all(small_disk, max_wal_size="48MB", min_wal_size="32MB", checkpoint_flush_after="0")
    found = explained(small_disk, tmp_path / "run", Load(changes(300_000), 24))
    set_all(small_disk, max_wal_size="", min_wal_size="", checkpoint_flush_after="")
    assert found.stalls
    assert grave(found)[0] == "checkpoint-forced-by-log", grave(found)
    assert "slot-holds-log" in grave(found)
    keep("checkpoint-forced-by-log", "max_wal_size 48 MB, a disk of 300 operations a second", grave(found))
    keep("slot-holds-log", "a physical slot without a consumer, in the same run", grave(found))
    if "disk-saturated" in grave(found):
        # It names what ran out, not who used it up: so it stands last.
        assert grave(found)[-1] == "disk-saturated"
        keep("disk-saturated", "the same run: the volume stands at its limit", grave(found))


def test_another_program_that_writes(small_disk: Sandbox, tmp_path: Path) -> None:
    with small_disk._unlimited():
        ask(small_disk, "CHECKPOINT")
    assert small_disk.volume is not None
    mount = next(line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()
                 if str(small_disk.folder) in line)  # fmt: skip

    def meanwhile() -> None:
        CLOCK.sleep(7)
        writers = [
            subprocess.Popen(
                ["timeout", "7", "dd", "if=/dev/zero", f"of={mount}/bulk{number}", "bs=4k", "oflag=direct"],
                stderr=subprocess.DEVNULL,
            )
            for number in range(100)
        ]
        for one in writers:
            one.wait()
        for number in range(100):
            os.unlink(f"{mount}/bulk{number}")

    load = Load(changes(300_000), 18, threads=4, rate_per_s=40)
    found = explained(small_disk, tmp_path / "run", load, meanwhile)
    named = named_at(found, 7, 15)
    assert named[:1] == ["bulk-writer"], (named, found.stalls)
    # Somebody else on this machine may write as much at the same time.
    assert "dd" in next(one.finding.says for one in found.findings if one.finding.rule == "bulk-writer")
    keep("bulk-writer", "a hundred dd on the server's volume of 300 operations a second", named)


@pytest.mark.engines_full
def test_a_control_group_without_room(tmp_path: Path) -> None:
    need_driver()
    reads = WorkloadSpec(name="oltp_read_only", options={"tables": "1", "table_size": "400000"})
    with temporary_home(CLOCK) as home:
        # Beside the server's own memory some 30 MiB are left for the cache of a table of 100: it is never warm.
        options = SandboxOptions(memory_bytes=128 << 20)
        try:
            small = create(home, engine_named("postgresql"), "tight", options, clock=CLOCK)
        except DynoError as error:
            pytest.skip(str(error))
        if not small.record.options.memory_bytes:
            pytest.skip("this machine cannot limit memory: " + "; ".join(small.notes))
        with small.held():
            small.restart({"shared_buffers": "32MB"})
            load_dataset(small.target, small.secret, reads, threads=2, seed=1)
            found = explained(small, tmp_path / "run", Load(reads, 8, threads=4))
    named = [one.finding.rule for one in found.findings]
    assert "memory-group-limit" in named
    keep("memory-group-limit", "a limit of 128 MiB under a cache of 32 MiB and a table of 100", named)


def test_a_server_that_is_started_again(box: Sandbox, tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as pool:
        # A server ends with the thread that started it: so this one restarts, and the other one records.
        record = pool.submit(explained, box, tmp_path / "run", None, seconds=7)
        CLOCK.sleep(2)
        box.restart()
        found = record.result()
    assert grave(found)[:1] == ["server-restarted"]
    keep("server-restarted", "a restart while it is recorded", grave(found))


@pytest.mark.parametrize("load", [Load(ACCOUNTS, 11, threads=4, rate_per_s=60), None], ids=["load", "idle"])
def test_a_calm_server_has_none_of_them(box: Sandbox, tmp_path: Path, load: Load | None) -> None:
    """The negative control. What else happens on the machine meanwhile may show; nothing of the above may."""
    found = explained(box, tmp_path / "run", load, seconds=5)
    assert not PROVOKED_HERE & set(grave(found)), (grave(found), found.stalls)


def test_the_connection_helper_closes(box: Sandbox) -> None:
    with connection(box) as one:
        pass
    with pytest.raises(psycopg.OperationalError):
        one.execute("SELECT 1")
