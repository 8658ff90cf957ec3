"""File system, mount options and block device under a folder. Sources: /proc/self/mountinfo (proc(5)), /sys/block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dbdyno.model.fact import Fact, Scalar


@dataclass(frozen=True)
class Mount:
    number: str
    """`major:minor` of the file system's device."""
    point: str
    filesystem: str
    source: str
    options: str


def read_facts(root: Path, *, folder: Path | None, device: str | None) -> list[Fact]:
    """Facts about the storage under `folder`; with their reason when it is not known. Raises nothing."""
    facts: list[Fact] = []
    source = "/proc/self/mountinfo"
    mount: Mount | None = None
    unknown = "the folder of the server's data is not known"
    if folder is not None:
        try:
            mount = mount_of(parse_mounts((root / "proc/self/mountinfo").read_text(errors="replace")), folder)
            unknown = "" if mount else f"no mount holds {folder}"
        except OSError as error:
            unknown = error.strerror or str(error)
    for name, value in (
        ("host.filesystem", mount.filesystem if mount else None),
        ("host.mount_point", mount.point if mount else None),
        ("host.mount_options", mount.options if mount else None),
    ):
        facts.append(Fact(name=name, source=source, value=value, unknown=unknown))
    device = device or (device_named(root, mount.number) if mount else None)
    facts.append(
        Fact(name="host.disk_device", source="/sys/dev/block", value=device,
             unknown="" if device else unknown or "the file system is on no block device of this machine")
    )  # fmt: skip
    if device:
        facts += [_queue_fact(root, device, spec) for spec in _QUEUE]
    return facts


def parse_mounts(text: str) -> list[Mount]:
    """Mounts in the order of mounting; lines that are not one are left out."""
    mounts = []
    for line in text.splitlines():
        before, dash, after = line.partition(" - ")
        fields, rest = before.split(), after.split()
        if not dash or len(fields) < 6 or len(rest) < 2:
            continue
        options = fields[5] + ("," + rest[2] if len(rest) > 2 else "")
        merged = ",".join(dict.fromkeys(options.split(",")))
        # Blanks in paths are written as octal.
        point = fields[4].replace("\\040", " ")
        mounts.append(Mount(number=fields[2], point=point, filesystem=rest[0], source=rest[1], options=merged))
    return mounts


def mount_of(mounts: list[Mount], folder: Path) -> Mount | None:
    """The mount that holds the folder: the longest mount point above it, the last when several are stacked."""
    best: Mount | None = None
    for mount in mounts:
        point = Path(mount.point)
        if (point == folder or point in folder.parents) and (best is None or len(mount.point) >= len(best.point)):
            best = mount
    return best


def device_named(root: Path, number: str) -> str | None:
    """Name of the whole device for `major:minor`; a partition's is its disk's. None when there is no such device."""
    try:
        path = (root / "sys/dev/block" / number).readlink()
    except OSError:
        return None
    if (root / "sys/block" / path.name).exists():
        return path.name
    return path.parent.name if (root / "sys/block" / path.parent.name).exists() else None


def _queue_fact(root: Path, device: str, spec: tuple[str, str, str, Callable[[str], Scalar]]) -> Fact:
    name, unit, path, parse = spec
    source = f"/sys/block/{device}/{path}"
    try:
        return Fact(name=name, unit=unit, source=source, value=parse((root / source.lstrip("/")).read_text()))
    except OSError as error:
        return Fact(name=name, unit=unit, source=source, unknown=error.strerror or str(error))
    except ValueError as error:
        return Fact(name=name, unit=unit, source=source, unknown=f"cannot be parsed: {error}")


def _chosen(text: str) -> str:
    chosen = [word.strip("[]") for word in text.split() if word.startswith("[")]
    return chosen[0] if chosen else text.strip()


_QUEUE: tuple[tuple[str, str, str, Callable[[str], Scalar]], ...] = (
    ("host.disk_scheduler", "", "queue/scheduler", _chosen),
    ("host.disk_rotational", "", "queue/rotational", lambda text: text.strip() == "1"),
    ("host.disk_write_cache", "", "queue/write_cache", str.strip),
    ("host.disk_read_ahead_bytes", "B", "queue/read_ahead_kb", lambda text: int(text) * 1024),
    ("host.disk_requests_max", "", "queue/nr_requests", int),
    ("host.disk_bytes", "B", "size", lambda text: int(text) * 512),
)
