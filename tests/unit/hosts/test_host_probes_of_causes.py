"""The probes that causes of stalls need, on the fixture machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbdyno.hosts import boot, cores, frequency, journal, memory_group, nodes, processor_group, reclaim, writers
from dbdyno.hosts.registry import Watch

MACHINE = Path(__file__).parents[2] / "fixtures/machines/debian-vm"
WATCH = Watch(processes={"server": (4001,)})


def test_cores_are_told_apart() -> None:
    rows = cores.read(MACHINE, WATCH)
    assert [row["core"] for row in rows] == ["cpu0", "cpu1"]
    assert rows[1]["softirq_s"] == 1.42


def test_limits_of_the_write_cache_are_bytes() -> None:
    [row] = reclaim.parse("nr_dirty_threshold 10\nnr_dirtied 3\ncompact_stall 7\nallocstall_normal 1\n")
    assert row["dirty_limit_bytes"] == 40960
    assert row["dirtied_bytes"] == 12288
    assert row["compaction_stalls"] == 7
    assert row["reclaim_stalls"] == 1
    assert row["foreign_node_pages"] is None


def test_memory_of_nodes() -> None:
    [row] = nodes.read(MACHINE, WATCH)
    assert row["node"] == "node0"
    assert row["free_bytes"] == 14126452 * 1024


def test_frequency_and_start() -> None:
    assert frequency.read(MACHINE, WATCH)[0]["lowest_mhz"] == 2596.098
    assert boot.read(MACHINE, WATCH) == [{"boot_unix_s": 1795165634}]


def test_the_group_with_the_limit_is_found() -> None:
    [row] = memory_group.read(MACHINE, WATCH)
    assert row["group"] == "/database"
    assert (row["used_bytes"], row["limit_hits"], row["killed"]) == (1500000000, 17, 1)


def test_version_2_of_control_groups(tmp_path: Path) -> None:
    (tmp_path / "proc/9").mkdir(parents=True)
    (tmp_path / "proc/9/cgroup").write_text("0::/db.slice/server\n")
    inner = tmp_path / "sys/fs/cgroup/db.slice/server"
    inner.mkdir(parents=True)
    (inner / "memory.max").write_text("max\n")
    (inner.parent / "memory.max").write_text("1000\n")
    (inner.parent / "memory.current").write_text("900\n")
    (inner.parent / "memory.events").write_text("low 0\nmax 5\noom_kill 2\n")
    [row] = memory_group.read(tmp_path, Watch(processes={"server": (9,)}))
    assert row == {
        "group": "/db.slice", "limit_bytes": 1000, "used_bytes": 900, "limit_hits": 5, "killed": 2,
        "cached_bytes": None, "dirty_bytes": None, "swapped_bytes": None,
    }  # fmt: skip
    (inner.parent / "memory.stat").write_text("anon 200\nfile 700\nshmem 300\nfile_dirty 30\nfile_writeback 4\n")
    (inner.parent / "memory.swap.current").write_text("50\n")
    [row] = memory_group.read(tmp_path, Watch(processes={"server": (9,)}))
    assert (row["cached_bytes"], row["dirty_bytes"], row["swapped_bytes"]) == (400, 34, 50)
    (inner.parent / "memory.max").unlink()
    assert memory_group.read(tmp_path, Watch(processes={"server": (9,)})) == []


def test_a_quota_of_processors_in_either_version(tmp_path: Path) -> None:
    (tmp_path / "proc/9").mkdir(parents=True)
    (tmp_path / "proc/9/cgroup").write_text("3:cpu:/db/inner\n0::/\n")
    group = tmp_path / "sys/fs/cgroup/cpu/db"
    (group / "inner").mkdir(parents=True)
    watch = Watch(processes={"server": (9,)})
    (group / "inner/cpu.cfs_quota_us").write_text("-1\n")
    (group / "inner/cpu.cfs_period_us").write_text("100000\n")
    (group / "inner/cpu.stat").write_text("nr_periods 0\nnr_throttled 0\nthrottled_time 0\n")
    assert processor_group.read(tmp_path, watch) == []
    (group / "cpu.cfs_quota_us").write_text("150000\n")
    (group / "cpu.cfs_period_us").write_text("100000\n")
    (group / "cpu.stat").write_text("nr_periods 20\nnr_throttled 5\nthrottled_time 1500000000\n")
    row = {"quota_cores": 1.5, "periods": 20, "throttled_periods": 5, "throttled_s": 1.5}
    assert processor_group.read(tmp_path, watch) == [{"group": "/db", **row}]
    (tmp_path / "proc/9/cgroup").write_text("0::/db.slice\n")
    slice_ = tmp_path / "sys/fs/cgroup/db.slice"
    slice_.mkdir()
    (slice_ / "cpu.max").write_text("150000 100000\n")
    (slice_ / "cpu.stat").write_text("usage_usec 7\nnr_periods 20\nnr_throttled 5\nthrottled_usec 1500000\n")
    assert processor_group.read(tmp_path, watch) == [{"group": "/db.slice", **row}]
    (slice_ / "cpu.max").write_text("max 100000\n")
    assert processor_group.read(tmp_path, watch) == []


def test_a_journal_tells_what_a_commit_took() -> None:
    [row] = journal.read(MACHINE, WATCH)
    assert row["transactions"] == 2000
    assert row["last_commits_ms"] == 3.5


def test_other_writers_are_named_and_the_server_is_none() -> None:
    assert writers.read(MACHINE, WATCH) == [{"program": "rsync", "write_bytes": 4096000, "read_bytes": 4435968}]


def test_who_only_reads_is_seen_among_many_who_write(tmp_path: Path) -> None:
    for pid in range(10, 70):
        (tmp_path / f"proc/{pid}").mkdir(parents=True)
        (tmp_path / f"proc/{pid}/comm").write_text(f"writer{pid}\n")
        (tmp_path / f"proc/{pid}/io").write_text(f"read_bytes: 0\nwrite_bytes: {pid}\n")
    (tmp_path / "proc/10/comm").write_text("reader\n")
    (tmp_path / "proc/10/io").write_text("read_bytes: 5000000\nwrite_bytes: 0\n")
    rows = writers.read(tmp_path, Watch())
    assert {"program": "reader", "write_bytes": 0, "read_bytes": 5000000} in rows
    assert len(rows) <= 48


@pytest.mark.parametrize("parse", [cores.parse, reclaim.parse, nodes.parse, frequency.parse, boot.parse, journal.parse])
def test_a_file_of_another_kind_is_refused(parse: object) -> None:
    with pytest.raises(ValueError, match="no "):
        parse("nothing of use\n")  # type: ignore[operator]
