"""The parts of a sandbox that need no server."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from dbdyno.model.errors import SandboxError, UsageError
from dbdyno.sandbox import limits, ports
from dbdyno.sandbox.copying import can_reflink, copy_tree, remove_tree, tree_bytes
from dbdyno.sandbox.disk import Mount, parse_mountinfo
from dbdyno.sandbox.lock import Lock
from dbdyno.sandbox.options import Disk, SandboxOptions, check_name, parse_size, parse_url
from dbdyno.sandbox.process import parse_stat
from dbdyno.sandbox.records import SandboxState, read_record, write_record


class StepClock:
    """Each look at it takes a tenth of a second."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        self.now += 0.1
        return self.now

    unix = monotonic

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def test_a_sandbox_address_is_read() -> None:
    url = parse_url("sandbox:postgresql?disk=xfs&iops=3000&memory=2G&size=20G&name=demo&version=15&write_iops=100")
    assert (url.engine, url.name) == ("postgresql", "demo")
    assert url.options == SandboxOptions(
        disk=Disk.XFS, iops=3000, write_iops=100, memory_bytes=2 << 30, size_bytes=20 << 30, version="15"
    )
    assert (url.options.iops_read, url.options.iops_write) == (3000, 100)
    assert url.given == ("disk", "iops", "memory_bytes", "size_bytes", "version", "write_iops")


def test_the_name_may_stand_in_the_path_and_has_a_default() -> None:
    assert parse_url("sandbox:postgresql/demo").name == "demo"
    assert parse_url("sandbox:postgresql").name == "default"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("sandbox:", "not the address"),
        ("sandbox:e?disk=zfs", "no disk 'zfs'"),
        ("sandbox:e?speed=9", "no option speed"),
        ("sandbox:e?disk=xfs&iops=0", "iops"),
        ("sandbox:e?disk=xfs&iops=-5", "iops"),
        ("sandbox:e?disk=xfs&iops=many", "iops"),
        ("sandbox:e?iops=3000", "needs a disk"),
        ("sandbox:e?disk=xfs&size=1M", "too small"),
        ("sandbox:e?memory=1K", "too small"),
        ("sandbox:e?memory=lots", "not a size"),
        ("sandbox:e?port=70000", "port"),
        ("sandbox:e?disk=xfs&disk=ext4", "twice"),
        ("sandbox:e/a?name=b", "two names"),
        ("sandbox:e?name=../x", "name"),
        ("sandbox:e?disk", "cannot be read"),
    ],
)
def test_bad_addresses_are_refused(text: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        parse_url(text)


@pytest.mark.parametrize(("text", "size"), [("512M", 512 << 20), ("1.5G", 3 << 29), ("4096", 4096), ("2GiB", 2 << 30)])
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text, "size") == size


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "-x", "a" * 64, "ü"])
def test_names_that_are_no_folder_names_are_refused(name: str) -> None:
    with pytest.raises(UsageError):
        check_name(name)


def test_stat_lines_with_spaces_and_brackets_in_the_command() -> None:
    line = "42 (a ) b) S 7 42 42 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 123456 1 1"
    stat = parse_stat(line)
    assert (stat.state, stat.parent, stat.started_ticks) == ("S", 7, 123456)


MOUNTINFO = r"""22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
40 22 7:0 / /srv/a\040b/volume rw,noatime shared:3 - xfs /dev/loop0 rw,attr2
broken line
"""


def test_mountinfo_is_read() -> None:
    assert parse_mountinfo(MOUNTINFO) == [
        Mount(point="/", source="/dev/vda", kind="ext4"),
        Mount(point="/srv/a b/volume", source="/dev/loop0", kind="xfs"),
    ]


def test_a_second_holder_of_the_lock_learns_who_the_first_is(tmp_path: Path) -> None:
    import os

    first, second = Lock(tmp_path / "lock", "demo"), Lock(tmp_path / "lock", "demo")
    first.acquire()
    first.acquire()
    first.release()
    with pytest.raises(SandboxError, match="another dyno") as caught:
        second.acquire()
    assert str(os.getpid()) in caught.value.found
    first.release()
    second.acquire()
    assert second.held
    second.release()


def test_a_port_that_is_listened_on_is_not_free() -> None:
    with socket.socket() as listener:
        listener.bind((ports.LOOPBACK, 0))
        listener.listen()
        assert not ports.is_free(listener.getsockname()[1])
    assert ports.is_free(ports.free_port())


def test_a_copy_is_whole_and_its_cost_is_told(tmp_path: Path) -> None:
    source = tmp_path / "data"
    (source / "sub").mkdir(parents=True)
    (source / "sub" / "a").write_bytes(b"x" * 10_000)
    (source / "link").symlink_to("sub/a")
    left = tmp_path / "pristine.new"
    left.mkdir()
    (left / "rubbish").touch()
    cost = copy_tree(source, tmp_path / "pristine", StepClock())
    assert (tmp_path / "pristine" / "sub" / "a").read_bytes() == b"x" * 10_000
    assert not (tmp_path / "pristine" / "rubbish").exists()
    assert (tmp_path / "pristine" / "link").is_symlink()
    assert cost.method == ("reflink" if can_reflink(tmp_path) else "copy")
    assert cost.bytes == tree_bytes(source) == tree_bytes(tmp_path / "pristine")
    assert cost.seconds > 0
    assert not left.exists()


def test_a_copy_that_fails_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="could not be copied"):
        copy_tree(tmp_path / "missing", tmp_path / "target", StepClock())
    assert list(tmp_path.iterdir()) == []
    remove_tree(tmp_path / "missing")


def test_records_are_replaced_whole_and_bad_ones_say_so(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    write_record(path, SandboxState(port=5, assignment={"a": 1}))
    assert read_record(path, SandboxState) == SandboxState(port=5, assignment={"a": 1})
    path.write_text('{"port": "five"}')
    with pytest.raises(SandboxError, match="cannot be read"):
        read_record(path, SandboxState)
    path.unlink()
    with pytest.raises(SandboxError, match="not a sandbox"):
        read_record(path, SandboxState)


CGROUPS_1 = "9:name=systemd:/\n7:blkio:/\n4:memory:/box/1\n2:cpu,cpuacct:/x\n0::/\n"


def test_own_groups_are_read() -> None:
    groups = limits.own_groups(CGROUPS_1)
    assert (groups["memory"], groups["cpuacct"], groups[""]) == ("/box/1", "/x", "/")


def some_block_device() -> str:
    devices = sorted(path.name for path in Path("/sys/class/block").iterdir())
    if not devices:
        pytest.skip("this machine shows no block device")
    return devices[0]


def test_version_2_of_control_groups_limits_a_group_of_the_servers_own(tmp_path: Path) -> None:
    (tmp_path / "cgroup.controllers").write_text("cpu io memory\n")
    (tmp_path / "cgroup.subtree_control").touch()
    device = some_block_device()
    number = Path(f"/sys/class/block/{device}/dev").read_text().strip()
    set_ = limits.limit_io(device, 100, None, "dyno-x", root=tmp_path)
    assert (tmp_path / "dyno-x" / "io.max").read_text() == f"{number} riops=100 wiops=max"
    assert set_.join == (str(tmp_path / "dyno-x" / "cgroup.procs"),)
    assert set_.made == (str(tmp_path / "dyno-x"),)
    limits.limit_memory(1 << 30, "dyno-x", root=tmp_path)
    assert (tmp_path / "dyno-x" / "memory.max").read_text() == str(1 << 30)


def test_version_1_limits_the_device_on_the_root_group(tmp_path: Path) -> None:
    blkio = tmp_path / "blkio"
    blkio.mkdir()
    (blkio / "blkio.throttle.write_iops_device").touch()
    device = some_block_device()
    number = Path(f"/sys/class/block/{device}/dev").read_text().strip()
    limits.limit_io(device, 100, 50, "dyno-x", root=tmp_path)
    assert (blkio / "blkio.throttle.read_iops_device").read_text() == f"{number} 100"
    assert (blkio / "blkio.throttle.write_iops_device").read_text() == f"{number} 50"
    limits.limit_io(device, None, None, "dyno-x", root=tmp_path)
    assert (blkio / "blkio.throttle.write_iops_device").read_text() == f"{number} 0"


def test_a_machine_without_control_groups_is_said(tmp_path: Path) -> None:
    assert "no control group" in limits.limit_io(some_block_device(), 1, 1, "k", root=tmp_path).notes[0]
    assert "no control group" in limits.limit_memory(1 << 30, "k", root=tmp_path).notes[0]
    assert limits.remove_groups((str(tmp_path / "gone"),)) == []
