"""Storage under the server's data and its log: file system, mount, block devices with their queues.

Sources: proc(5) for mountinfo, the kernel's Documentation/ABI/stable/sysfs-block, fstab(5), udev(7).
"""

from __future__ import annotations

import os
import posixpath
import re
from pathlib import Path

from dbdyno.hosts import storage
from dbdyno.hosts.subject import Subject
from dbdyno.hosts.tree import ABSENT, Tree, unknowns
from dbdyno.model.fact import Fact, Scalar

_VIRTUAL_NAME = re.compile(r"^(vd|xvd|sr|zram|loop|nbd|rbd)")
_UDEV_FOLDERS = ("etc/udev/rules.d", "run/udev/rules.d")
"""The owner's rules. The distribution's many rules set these two values only for special devices."""
_UDEV_VALUE = re.compile(r'ATTR\{(?:queue|bdi)/(scheduler|read_ahead_kb)\}="([^"]*)"')
_UDEV_ROTATIONAL = re.compile(r'ATTR\{queue/rotational\}=="([01])"')
_UDEV_KERNEL = re.compile(r'KERNEL=="([^"]*)"')
_MEMBERS_MAX = 64
_MOUNT_FACTS = ("filesystem", "mount_point", "mount_options", "mount_source", "device", "leaves")


def read(tree: Tree, subject: Subject) -> list[Fact]:
    """Raises nothing."""
    facts: list[Fact] = []
    devices: dict[str, None] = {}
    folders = {"data": subject.data_dir, "log": subject.log_dir or subject.data_dir}
    for role, folder in folders.items():
        facts += _role_facts(tree, role, folder, subject.device if role == "data" else None, devices)
    for device in devices:
        facts += _device_facts(tree, device)
    facts.append(tree.fact("host.raid", "proc/mdstat", parse_mdstat, absent="none"))
    return facts


def _role_facts(tree: Tree, role: str, folder: Path | None, device: str | None, devices: dict[str, None]) -> list[Fact]:
    source = "/proc/self/mountinfo"
    names = tuple(f"host.{role}.{name}" for name in (*_MOUNT_FACTS, *MOUNT_WORDS, "fstab", "free_ratio", "fs_errors"))
    if folder is None:
        return unknowns(names, source, f"the folder of the server's {role} is not known")
    try:
        mounts = storage.parse_mounts(tree.text(source.lstrip("/")))
    except OSError as error:
        return unknowns(names, source, error.strerror or str(error))
    real = Path(os.path.realpath(folder)) if tree.live else folder
    mount = storage.mount_of(mounts, real)
    if mount is None:
        return unknowns(names, source, f"no mount holds {folder}")
    device = device or storage.device_named(tree.root, mount.number) or _device_of_source(tree, mount.source)
    values: dict[str, Scalar] = {
        "filesystem": mount.filesystem, "mount_point": mount.point, "mount_options": mount.options,
        "mount_source": mount.source, "device": device or ABSENT,
    }  # fmt: skip
    facts = [Fact(name=f"host.{role}.{name}", source=source, value=value) for name, value in values.items()]
    leaves = leaves_of(tree, device) if device else []
    devices |= dict.fromkeys([*([device] if device else []), *leaves])
    why = "" if leaves else "the file system is on no block device of this machine"
    facts.append(Fact(name=f"host.{role}.leaves", source="/sys/block", value=" ".join(leaves), unknown=why))
    for name, parse in MOUNT_WORDS.items():
        value = parse(mount.options.split(","), mount.filesystem)
        facts.append(Fact(name=f"host.{role}.{name}", source=source, value=value))
    facts.append(
        tree.fact(f"host.{role}.fstab", "etc/fstab", lambda text: fstab_line(text, mount.point), absent=ABSENT)
    )
    facts.append(_free_fact(tree, role, real))
    errors = f"sys/fs/{mount.filesystem}/{posixpath.basename(mount.source)}/errors_count"
    facts.append(tree.fact(f"host.{role}.fs_errors", errors, int, absent=0))
    return facts


def _free_fact(tree: Tree, role: str, folder: Path) -> Fact:
    """Only the machine itself can be asked."""
    name, source = f"host.{role}.free_ratio", str(folder)
    if not tree.live:
        return Fact(name=name, source=source, unknown="a copy of a machine does not tell the space that is free")
    try:
        space = os.statvfs(folder)
    except OSError as error:
        return Fact(name=name, source=source, unknown=error.strerror or str(error))
    return Fact(name=name, source=source, value=round(space.f_bavail / max(1, space.f_blocks), 4))


def _device_of_source(tree: Tree, source: str) -> str | None:
    """For file systems with a number of their own (btrfs): the whole device that the mount names."""
    name = posixpath.basename(source)
    if not source.startswith("/dev/"):
        return None
    if tree.has(f"sys/block/{name}"):
        return name
    whole = re.sub(r"p?\d+$", "", name)
    return whole if tree.has(f"sys/block/{whole}") else None


def leaves_of(tree: Tree, device: str) -> list[str]:
    """The disks that a device is made of (RAID, volume manager); the device itself when it is one."""
    found: list[str] = []
    waiting, seen = [device], set[str]()
    while waiting and len(seen) < _MEMBERS_MAX:
        name = waiting.pop(0)
        if name in seen:
            continue
        seen.add(name)
        try:
            slaves = tree.names(f"sys/block/{name}/slaves")
        except OSError:
            slaves = []
        whole = [slave if tree.has(f"sys/block/{slave}") else re.sub(r"p?\d+$", "", slave) for slave in slaves]
        waiting += whole
        if not whole:
            found.append(name)
    return found


def _device_facts(tree: Tree, device: str) -> list[Fact]:
    folder, name = f"sys/block/{device}", f"host.block.{device}"
    return [
        tree.fact(f"{name}.scheduler", f"{folder}/queue/scheduler", chosen, absent="none"),
        tree.fact(f"{name}.schedulers", f"{folder}/queue/scheduler", offered, absent="none"),
        tree.fact(f"{name}.rotational", f"{folder}/queue/rotational", lambda text: text.strip() == "1"),
        tree.fact(f"{name}.write_cache", f"{folder}/queue/write_cache", absent=ABSENT),
        tree.fact(f"{name}.read_ahead_bytes", f"{folder}/queue/read_ahead_kb", lambda t: int(t) * 1024, unit="B"),
        tree.fact(f"{name}.requests_max", f"{folder}/queue/nr_requests", int, absent=ABSENT),
        tree.fact(f"{name}.merges", f"{folder}/queue/nomerges", int, absent=ABSENT),
        tree.fact(f"{name}.entropy", f"{folder}/queue/add_random", int, absent=ABSENT),
        tree.fact(f"{name}.model", f"{folder}/device/model", absent=ABSENT),
        tree.attempt(f"{name}.virtual", folder, lambda: is_virtual(device, _model(tree, device))),
        *_udev_facts(tree, device),
    ]


def _model(tree: Tree, device: str) -> str:
    try:
        return tree.text(f"sys/block/{device}/device/model")
    except FileNotFoundError:
        return ""


def _udev_facts(tree: Tree, device: str) -> list[Fact]:
    """What udev sets for the device at each boot; `ABSENT` when no rule of the machine's owner names it."""
    names = {
        "scheduler": f"host.boot.block.{device}.scheduler",
        "read_ahead_kb": f"host.boot.block.{device}.read_ahead_kb",
    }
    if not tree.covers("etc"):
        return unknowns(tuple(names.values()), "/etc/udev/rules.d", "the copy of the machine has no /etc")
    found: dict[str, tuple[str, str]] = {}
    files: dict[str, str] = {}
    try:
        rotational = tree.text(f"sys/block/{device}/queue/rotational").strip()
        for folder in _UDEV_FOLDERS:
            for file in tree.names(folder) if tree.has(folder) else ():
                if file.endswith(".rules"):
                    files.setdefault(file, f"{folder}/{file}")
        for file in sorted(files):
            for key, value in udev_values(tree.text(files[file]), device, rotational).items():
                found[key] = (value, "/" + files[file])
    except OSError as error:
        return unknowns(tuple(names.values()), "/etc/udev/rules.d", error.strerror or str(error))
    return [
        Fact(name=name, source=found.get(key, ("", "no rule of udev"))[1], value=found.get(key, (ABSENT, ""))[0])
        for key, name in names.items()
    ]


def udev_values(text: str, device: str, rotational: str) -> dict[str, str]:
    """Scheduler and read-ahead that rules give the device; a rule without a kernel name is for all. Of other conditions
    only that on the kind of disk is understood."""
    found: dict[str, str] = {}
    for line in text.replace("\\\n", " ").splitlines():
        if line.lstrip().startswith("#"):
            continue
        kernel = _UDEV_KERNEL.search(line)
        if kernel and not any(Path(device).match(pattern) for pattern in kernel[1].split("|")):
            continue
        if (kind := _UDEV_ROTATIONAL.search(line)) and kind[1] != rotational:
            continue
        found |= {key: value for key, value in _UDEV_VALUE.findall(line)}
    return found


def fstab_line(text: str, point: str) -> str:
    """The line of a mount point in /etc/fstab, `ABSENT` when it is not listed."""
    for line in text.splitlines():
        words = line.split()
        if len(words) >= 4 and not words[0].startswith("#") and words[1].replace("\\040", " ") == point:
            return line.strip()
    return ABSENT


def access_times(options: list[str], _filesystem: str) -> str:
    """The kernel leaves out what is the default; without any word every access is written."""
    return next((word for word in ("noatime", "relatime") if word in options), "strictatime")


def discards(options: list[str], _filesystem: str) -> str:
    """Whether freed blocks are told to the device at once."""
    return "discard" if any(word == "discard" or word.startswith("discard=") for word in options) else "nodiscard"


def barriers(options: list[str], _filesystem: str) -> str:
    """Whether the file system flushes the device's cache when it promises that something is written."""
    return "nobarrier" if {"nobarrier", "barrier=0", "barrier=none"} & set(options) else "barrier"


def journal(options: list[str], filesystem: str) -> str:
    """What of the data goes through the journal: ext3 and ext4 only, which do not show their default."""
    if filesystem not in ("ext3", "ext4"):
        return ABSENT
    return next((word for word in options if word.startswith("data=")), "data=ordered")


MOUNT_WORDS = {"atime": access_times, "discard": discards, "barrier": barriers, "journal": journal}
"""Facts that are one word of the mount options each; the word is also what a remount takes."""


def parse_mdstat(text: str) -> str:
    """`degraded` when an array lacks a member, `resync` while one is rebuilt or checked, else `clean` or `none`."""
    if re.search(r"\[[U_]*_[U_]*\]", text):
        return "degraded"
    if re.search(r"\b(resync|recovery|reshape|check)\s*=", text):
        return "resync"
    return "clean" if re.search(r"^md\S+\s*:", text, re.MULTILINE) else "none"


def chosen(text: str) -> str:
    """The word in brackets."""
    found = re.search(r"\[(\w[\w-]*)\]", text)
    return found[1] if found else text.strip()


def offered(text: str) -> str:
    """All words, without the brackets."""
    return " ".join(word.strip("[]") for word in text.split())


def is_virtual(device: str, model: str) -> bool:
    """Whether something below (a hypervisor, a network store) orders the requests itself."""
    words = ("virtual", "elastic block", "persistentdisk", "qemu", "vbox", "msft", "netapp", "iscsi")
    return bool(_VIRTUAL_NAME.match(device)) or any(word in model.lower() for word in words)
