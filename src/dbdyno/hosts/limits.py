"""Limits that control groups put on the server: processors, memory, operations of its disk. Versions 1 and 2.

Source: the kernel's Documentation/admin-guide/cgroup-v1 and cgroup-v2.rst. A limit of an ancestor holds as well: the
smallest on the way to the root counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from dbdyno.model.fact import Fact

UNLIMITED_BYTES = 1 << 62
"""Version 1 writes "no limit" as the largest multiple of a page."""


def read_facts(root: Path, *, pids: Sequence[int], device: str | None) -> list[Fact]:
    """Limits on the server's first process, or on our own when it is not known. Raises nothing."""
    owner = str(pids[0]) if pids else "self"
    path = f"/proc/{owner}/cgroup"
    try:
        groups = parse_groups((root / "proc" / owner / "cgroup").read_text())
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or f"cannot be parsed: {error}"
        return [Fact(name="host.cgroup_limits", source=path, unknown=why)]
    number = device_number(root, device) if device else None
    facts = []
    for name, unit, reader in (
        ("host.cgroup_cores", "", _cores),
        ("host.cgroup_memory_bytes", "B", _memory),
    ):
        found = [value for value in reader(root, groups) if value is not None]
        facts.append(Fact(name=name, unit=unit, source=path, value=min(found) if found else "no limit"))
    for kind in ("read", "write"):
        limits = [value for value in _iops(root, groups, number, kind) if value is not None] if number else []
        unknown = "" if number else "the block device under the data is not known"
        value = min(limits) if limits else "no limit"
        facts.append(
            Fact(name=f"host.cgroup_{kind}_iops", unit="1/s", source=path, value=value if number else None,
                 unknown=unknown)
        )  # fmt: skip
    return facts


def parse_groups(text: str) -> dict[str, str]:
    """Path by controller from /proc/<pid>/cgroup; version 2 has the empty name."""
    groups = {}
    for line in text.splitlines():
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):
            groups[controller] = path
    return groups


def parse_quota(text: str) -> float | None:
    """Cores of a `cpu.max` line such as `150000 100000`; None for `max`."""
    quota, period = text.split()
    return None if quota == "max" else int(quota) / int(period)


def parse_device_limit(text: str, number: str, kind: str) -> float | None:
    """Operations per second for `254:0` from `blkio.throttle.*_iops_device` or `io.max`; None when not limited."""
    key = {"read": "riops", "write": "wiops"}[kind]
    for line in text.splitlines():
        words = line.split()
        if not words or words[0] != number:
            continue
        if len(words) == 2 and "=" not in words[1]:
            return float(words[1])
        limits = dict(word.split("=", 1) for word in words[1:])
        if limits.get(key, "max") != "max":
            return float(limits[key])
    return None


def device_number(root: Path, device: str) -> str | None:
    """`major:minor` of a block device."""
    try:
        return (root / "sys/block" / device / "dev").read_text().strip()
    except OSError:
        return None


def folders(root: Path, groups: dict[str, str], controller: str) -> Iterator[Path]:
    """The group's folder and its ancestors', in whichever version has the controller."""
    for base, path in (
        (root / "sys/fs/cgroup" / controller, groups.get(controller)),
        (root / "sys/fs/cgroup", groups.get("")),
        (root / "sys/fs/cgroup/unified", groups.get("")),
    ):
        if path is None:
            continue
        folder = base / path.lstrip("/")
        while True:
            yield folder
            if folder == base or base not in folder.parents:
                break
            folder = folder.parent


def _read(path: Path, parse: Callable[[str], float | None]) -> float | None:
    """A limit from one file; the file is missing in the root group and in the other version."""
    try:
        return parse(path.read_text())
    except (OSError, ValueError):
        return None


def _cores(root: Path, groups: dict[str, str]) -> Iterator[float | None]:
    for folder in folders(root, groups, "cpu"):
        yield _read(folder / "cpu.max", parse_quota)
        quota = _read(folder / "cpu.cfs_quota_us", float)
        period = _read(folder / "cpu.cfs_period_us", float)
        yield quota / period if quota is not None and period and quota > 0 else None


def _memory(root: Path, groups: dict[str, str]) -> Iterator[float | None]:
    for folder in folders(root, groups, "memory"):
        yield _read(folder / "memory.max", lambda text: None if text.strip() == "max" else int(text))
        yield _read(folder / "memory.limit_in_bytes", lambda text: None if int(text) >= UNLIMITED_BYTES else int(text))


def _iops(root: Path, groups: dict[str, str], number: str, kind: str) -> Iterator[float | None]:
    def parse(text: str) -> float | None:
        return parse_device_limit(text, number, kind)

    for folder in folders(root, groups, "blkio"):
        yield _read(folder / f"blkio.throttle.{kind}_iops_device", parse)
    for folder in folders(root, groups, "io"):
        yield _read(folder / "io.max", parse)
