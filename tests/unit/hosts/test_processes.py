"""Files of many processes: bare reads here, a path's methods for another machine."""

from __future__ import annotations

from pathlib import Path, PosixPath

import pytest

from dbdyno.hosts import writers
from dbdyno.hosts.processes import content, newest
from dbdyno.hosts.registry import Watch


class _There(PosixPath):
    """As a path of another machine: only its methods may be used."""


def _machine(root: Path) -> Path:
    for pid, name, written in ((7, "cp", 4096), (30, "cp", 8192), (31, "kworker/0:1", 512), (32, "idle", 0)):
        folder = root / "proc" / str(pid)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "comm").write_text(f"{name}\n")
        (folder / "io").write_text(f"rchar: 1\nread_bytes: 0\nwrite_bytes: {written}\n")
    (root / "proc/meminfo").write_text("")
    return root


@pytest.mark.parametrize("kind", [Path, _There])
def test_both_ways_read_the_same(tmp_path: Path, kind: type[Path]) -> None:
    root = kind(_machine(tmp_path))
    assert newest(root, 3) == [32, 31, 30]
    assert content(root, 7, "comm") == "cp\n"
    with pytest.raises(FileNotFoundError):
        content(root, 8, "comm")


def test_those_that_wrote_are_summed_by_name_and_the_kernel_is_left_out(tmp_path: Path) -> None:
    def written(watch: Watch) -> dict[object, object]:
        return {row["program"]: row["write_bytes"] for row in writers.read(_machine(tmp_path), watch)}

    assert written(Watch()) == {"cp": 12288}
    assert written(Watch(processes={"server": (30,)})) == {"cp": 4096}


def test_who_may_read_nobody_is_told_and_who_may_read_one_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(root: Path, pid: int, file: str) -> str:
        if pid != 32:
            raise PermissionError(pid)
        return content(root, pid, file)

    _machine(tmp_path)
    monkeypatch.setattr(writers, "content", refused)
    assert writers.read(tmp_path, Watch()) == []
    with pytest.raises(PermissionError):
        writers.read(tmp_path, Watch(processes={"dyno": (32,)}))
