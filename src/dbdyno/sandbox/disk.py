"""The disk under a private server: a folder, or a file system in an image file on a loop device.

The loop device reads and writes the image directly where it can, so that the host's page cache does not hide the
disk and no page is held twice. Source: Linux manual pages losetup(8), loop(4); mkfs.ext4(8), mkfs.xfs(8),
mkfs.btrfs(8).
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dbdyno.model.clock import Clock
from dbdyno.model.errors import HostError, SandboxError
from dbdyno.sandbox.options import Disk

_MKFS = {
    # Background initialisation would disturb the first measurements.
    Disk.EXT4: ["mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"],
    Disk.XFS: ["mkfs.xfs", "-q", "-f", "-m", "reflink=1"],
    Disk.BTRFS: ["mkfs.btrfs", "-q", "-f"],
}
_PACKAGES = {Disk.EXT4: "e2fsprogs", Disk.XFS: "xfsprogs", Disk.BTRFS: "btrfs-progs"}
_TOOLS_PATH = "/usr/sbin:/sbin:/usr/bin:/bin"
SIZE_BYTES_DEFAULT = 20 * 1024**3
_UNMOUNT_TRIES = 50


def tool(name: str) -> str | None:
    return shutil.which(name, path=_TOOLS_PATH)


def run_tool(*command: str) -> str:
    """Runs a tool of the system and returns its words. Raises `HostError` with what it complained about."""
    program = tool(command[0])
    if program is None:
        raise HostError(f"The tool {command[0]} is not installed.")
    done = subprocess.run([program, *command[1:]], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise HostError(f"{command[0]} failed.", found=(done.stderr or done.stdout).strip().replace("\n", "; "))
    return done.stdout


def why_not(disk: Disk) -> str:
    """Why this machine cannot give such a disk; empty when it can, as far as can be told without trying."""
    if disk == Disk.PLAIN:
        return ""
    if os.geteuid() != 0:
        return "only root can attach loop devices"
    if not Path("/dev/loop-control").exists():
        return "this machine has no loop devices"
    for name, package in (
        ("losetup", "mount"), ("mount", "mount"), (_MKFS[disk][0], _PACKAGES[disk])
    ):  # fmt: skip
        if tool(name) is None:
            return f"{name} is not installed (package {package})"
    return ""


@dataclass(frozen=True)
class Mount:
    point: str
    source: str
    kind: str


def parse_mountinfo(text: str) -> list[Mount]:
    """Lines of /proc/<pid>/mountinfo; blanks in paths are written as octal numbers there."""
    mounts = []
    for line in text.splitlines():
        before, _, after = line.partition(" - ")
        fields, rest = before.split(" "), after.split(" ")
        if len(fields) >= 5 and len(rest) >= 2:
            mounts.append(Mount(point=_plain(fields[4]), kind=rest[0], source=_plain(rest[1])))
    return mounts


def _plain(text: str) -> str:
    for code, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        text = text.replace(code, character)
    return text


def mounted(point: Path) -> str | None:
    """The device that is mounted there, the uppermost one."""
    text = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace")
    sources = [mount.source for mount in parse_mountinfo(text) if mount.point == str(point)]
    return sources[-1] if sources else None


@dataclass(frozen=True)
class Volume:
    """A file system in an image file: made once, attached when it is needed, detached when it is not."""

    image: Path
    point: Path
    disk: Disk

    def make(self, size_bytes: int | None, note: Callable[[str], None]) -> str:
        """Makes image and file system, and mounts it. Returns the device, e.g. `/dev/loop0`. Raises `HostError`."""
        free = shutil.disk_usage(self.image.parent).free
        size = size_bytes or min(SIZE_BYTES_DEFAULT, free * 4 // 5 // 4096 * 4096)
        if size > free:
            note(f"the disk image may grow to {size >> 20} MiB, but only {free >> 20} MiB are free")
        with self.image.open("xb") as image:
            image.truncate(size)
        run_tool(*_MKFS[self.disk], str(self.image))
        return self.attach(note)

    def attach(self, note: Callable[[str], None]) -> str:
        """Mounts it unless it is mounted. Returns the device. Raises `HostError`."""
        device = mounted(self.point)
        if device is None:
            self.point.mkdir(exist_ok=True)
            device = next(iter(self.devices()), None) or self._loop(note)
            try:
                run_tool("mount", "-t", str(self.disk), "-o", "noatime", device, str(self.point))
            except HostError:
                self.detach_devices()
                raise
        return device

    def _loop(self, note: Callable[[str], None]) -> str:
        try:
            return run_tool("losetup", "--find", "--show", "--direct-io=on", str(self.image)).strip()
        except HostError as error:
            self.detach_devices()
            device = run_tool("losetup", "--find", "--show", str(self.image)).strip()
            note(f"the disk image is read and written through the host's cache: {error.found}")
            return device

    def devices(self) -> list[str]:
        """Loop devices on our image, also those that a killed dyno left behind."""
        if not self.image.exists() or tool("losetup") is None:
            return []
        listing = run_tool("losetup", "--noheadings", "--output", "NAME", "--associated", str(self.image))
        return listing.split()

    def detach(self, clock: Clock) -> None:
        """Unmounts it and frees the device. Raises `SandboxError` when something still uses it."""
        problem = ""
        for _ in range(_UNMOUNT_TRIES):
            if mounted(self.point) is None:
                self.detach_devices()
                return
            try:
                run_tool("umount", str(self.point))
            except HostError as error:
                problem = error.found
                clock.sleep(0.1)
        raise SandboxError(
            f"The disk of the sandbox cannot be unmounted: {self.point}.",
            found=problem,
            todo="close what uses it (shells, files in it), then try again",
        )

    def detach_devices(self) -> None:
        for device in self.devices():
            run_tool("losetup", "--detach", device)


def block_device(path: Path) -> str | None:
    """The whole block device under a path, e.g. `loop0`, `vda`; None when it has none of its own (tmpfs, overlay)."""
    try:
        number = path.stat().st_dev
    except OSError:
        return None
    link = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    if not link.exists():
        # File systems on several devices (btrfs) have a number of their own; the mount table names a device.
        source = _source_of(path)
        if source is None:
            return None
        link = Path("/sys/class/block") / Path(source).name
        if not link.exists():
            return None
    real = link.resolve()
    return (real.parent if (real / "partition").exists() else real).name


def _source_of(path: Path) -> str | None:
    text = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace")
    mounts = {mount.point: mount.source for mount in parse_mountinfo(text)}
    real = path.resolve()
    source = next((mounts[str(folder)] for folder in [real, *real.parents] if str(folder) in mounts), None)
    return source if source and source.startswith("/dev/") else None


def rotates(device: str, sys_block: Path = Path("/sys/class/block")) -> bool | None:
    """Whether the device is a spinning disk; None when it does not tell. Virtual disks say yes by default, wrongly."""
    if device.startswith("loop"):
        try:
            image = Path((sys_block / device / "loop" / "backing_file").read_text(encoding="utf-8").strip())
        except OSError:
            return None
        below = block_device(image)
        return rotates(below, sys_block) if below and not below.startswith("loop") else None
    if device.startswith(("vd", "xvd")):
        return None
    try:
        return (sys_block / device / "queue" / "rotational").read_text(encoding="utf-8").strip() == "1"
    except OSError:
        return None
