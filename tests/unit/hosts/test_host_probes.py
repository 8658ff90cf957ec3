"""The machine's probes on a fixture machine: every number below stands in its files."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from dbdyno.hosts import cpu, disk, facts, limits, memory, network, pressure, process, storage, vmstat
from dbdyno.hosts.registry import HostProbe, Watch, host_probes
from dbdyno.model.fact import Fact

MACHINE = Path(__file__).parents[2] / "fixtures/machines/debian-vm"
WATCH = Watch(processes={"server": (4001, 4002, 4999), "driver": (4999,)}, devices=("loop0",))


@pytest.mark.parametrize("one", host_probes(), ids=lambda one: one.probe.name)
def test_answers_have_the_columns_of_the_definition(one: HostProbe) -> None:
    rows = one.read(MACHINE, WATCH)
    assert rows
    for row in rows:
        assert set(row) == {column.name for column in one.probe.columns}


@pytest.mark.parametrize("one", host_probes(), ids=lambda one: one.probe.name)
def test_a_missing_file_is_an_error_not_a_zero(one: HostProbe, tmp_path: Path) -> None:
    if one.probe.name == "process":
        assert one.read(tmp_path, WATCH) == []
        return
    with pytest.raises(OSError):  # noqa: PT011
        one.read(tmp_path, WATCH)


@pytest.mark.parametrize("parse", [cpu.parse, memory.parse, vmstat.parse, pressure.parse])
def test_a_file_of_another_kind_is_refused(parse: object) -> None:
    with pytest.raises(ValueError, match=r"no |invalid"):
        parse("nothing of use\n")  # type: ignore[operator]


def test_cpu() -> None:
    text = "cpu  100 20 30 4000 50 6 7 80 0 0\ncpu0 1 2 3 4 5 6 7 8\ncpu1 1 2 3 4 5 6 7 8\nctxt 9\nprocs_running 3\n"
    (row,) = cpu.parse(text, ticks_per_s=100)
    assert row["user_s"] == 1.0
    assert row["iowait_s"] == 0.5
    assert row["steal_s"] == 0.8
    assert (row["cores"], row["context_switches"], row["running"], row["blocked"]) == (2, 9, 3, None)


def test_cpu_of_an_old_kernel_lacks_steal() -> None:
    (row,) = cpu.parse("cpu 1 2 3 4\n")
    assert row["steal_s"] is None


def test_disk_counts_sectors_of_512_bytes() -> None:
    line = " 254 0 vda 10 1 16 5 20 2 32 7 3 40 50 0 0 0 0 6 8\n"
    (row,) = disk.parse(line)
    assert (row["reads"], row["read_bytes"], row["read_ms"]) == (10, 8192, 5)
    assert (row["writes"], row["write_bytes"], row["write_ms"]) == (20, 16384, 7)
    assert (row["in_flight"], row["busy_ms"], row["queue_ms"], row["flushes"], row["flush_ms"]) == (3, 40, 50, 6, 8)


def test_disk_shows_physical_devices_and_the_watched_ones() -> None:
    assert [row["device"] for row in disk.read(MACHINE, WATCH)] == ["loop0", "vda"]
    assert [row["device"] for row in disk.read(MACHINE, Watch())] == ["vda"]


def test_disk_refuses_a_cut_line() -> None:
    with pytest.raises(ValueError, match="not a line"):
        disk.parse(" 254 0 vda 10 1")


def test_process_sums_and_counts_shared_memory_once() -> None:
    rows = {row["who"]: row for row in process.read(MACHINE, WATCH)}
    assert set(rows) == {"server"}
    assert rows["server"]["processes"] == 2
    parts = [process.parse_status((MACHINE / f"proc/{pid}/status").read_text()) for pid in (4001, 4002)]
    assert rows["server"]["shared_bytes"] == max(part["shared_bytes"] for part in parts)
    assert rows["server"]["private_bytes"] == sum(part["private_bytes"] for part in parts)


def test_process_times_include_children_and_survive_odd_names() -> None:
    fields = "S 1 2 3 4 5 6 7 8 9 10 100 50 20 30 20 0 4 0 99"
    assert process.parse_stat(f"7 (a (b) c) {fields}") == {"threads": 4, "user_s": 1.2, "system_s": 0.8, "cpu_s": 2.0}


def test_process_io_that_may_not_be_read_is_unknown(tmp_path: Path) -> None:
    shutil.copytree(MACHINE / "proc/4001", tmp_path / "proc/4001")
    (tmp_path / "proc/4001/io").unlink()
    (row,) = process.read(tmp_path, Watch(processes={"server": (4001,)}))
    assert row["write_bytes"] is None
    assert isinstance(row["cpu_s"], float)


def test_network_and_vmstat_and_memory() -> None:
    assert {row["interface"] for row in network.read(MACHINE, WATCH)} == {"lo", "eth0"}
    (row,) = vmstat.parse("nr_dirty 3\npgpgin 2\npswpout 5\n", page_bytes=4096)
    assert (row["dirty_bytes"], row["paged_in_bytes"], row["swap_out_bytes"]) == (12288, 2048, 20480)
    (row,) = memory.parse("MemTotal: 8 kB\nMemAvailable: 4 kB\n")
    assert (row["total_bytes"], row["available_bytes"], row["slab_bytes"]) == (8192, 4096, None)


def test_pressure() -> None:
    text = "some avg10=0.00 avg60=0.00 avg300=0.00 total=12\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=5\n"
    assert pressure.parse(text) == {"some": 12, "full": 5}


def read_all(**words: object) -> dict[str, Fact]:
    return {fact.name: fact for fact in facts.read_facts(MACHINE, **words)}  # type: ignore[arg-type]


def test_facts_of_the_fixture_machine() -> None:
    found = read_all(folder=Path("/var/lib/server"), pids=(4001,))
    golden = {
        "host.kernel": "6.18.44-cloud-amd64",
        "host.cores": 2,
        "host.cpu_model": "AMD EPYC",
        "host.virtualised": True,
        "host.clocksource": "tsc",
        "host.transparent_huge_pages": "madvise",
        "host.swappiness": 60,
        "host.dirty_ratio": 20,
        "host.numa_nodes": 1,
        "host.filesystem": "ext4",
        "host.mount_point": "/",
        "host.disk_device": "vda",
        "host.disk_scheduler": "mq-deadline",
        "host.cgroup_memory_bytes": 2 << 30,
        "host.cgroup_cores": 3.0,
        "host.cgroup_read_iops": "no limit",
        "host.cgroup_write_iops": 3000.0,
    }
    assert {name: found[name].value for name in golden} == golden
    assert "relatime" in str(found["host.mount_options"].value)


def test_facts_that_cannot_be_read_say_why() -> None:
    found = read_all()
    assert found["host.frequency_governor"].unknown == "No such file or directory"
    assert found["host.filesystem"].unknown == "the folder of the server's data is not known"
    assert found["host.cgroup_write_iops"].unknown
    assert all(fact.value is None for fact in found.values() if fact.unknown)


def test_limits_of_both_versions() -> None:
    assert limits.parse_quota("150000 100000") == 1.5
    assert limits.parse_quota("max 100000") is None
    assert limits.parse_device_limit("8:0 300\n254:0 3000\n", "254:0", "write") == 3000
    assert limits.parse_device_limit("254:0 rbps=max wbps=max riops=max wiops=500\n", "254:0", "write") == 500
    assert limits.parse_device_limit("254:0 rbps=max wbps=max riops=max wiops=500\n", "254:0", "read") is None


def test_limit_of_an_ancestor_group_holds(tmp_path: Path) -> None:
    (tmp_path / "proc/7").mkdir(parents=True)
    (tmp_path / "proc/7/cgroup").write_text("0::/a/b\n")
    inner = tmp_path / "sys/fs/cgroup/a/b"
    inner.mkdir(parents=True)
    (inner / "cpu.max").write_text("max 100000\n")
    (inner.parent / "cpu.max").write_text("50000 100000\n")
    (inner / "memory.max").write_text("1048576\n")
    found = {fact.name: fact.value for fact in limits.read_facts(tmp_path, pids=(7,), device=None)}
    assert found["host.cgroup_cores"] == 0.5
    assert found["host.cgroup_memory_bytes"] == 1048576


def test_mounts_the_longest_wins() -> None:
    text = (
        "1 0 254:0 / / rw - ext4 /dev/vda rw\n"
        "2 1 7:0 / /srv/my\\040data rw,noatime shared:1 - xfs /dev/loop0 rw,noquota\n"
        "3 1 7:1 / /srv/my\\040databases rw - xfs /dev/loop1 rw\n"
    )
    mount = storage.mount_of(storage.parse_mounts(text), Path("/srv/my data/pg"))
    assert mount is not None
    assert (mount.point, mount.filesystem, mount.options) == ("/srv/my data", "xfs", "rw,noatime,noquota")
