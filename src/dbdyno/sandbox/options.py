"""What a private server stands on, as the user writes it: `sandbox:<engine>?disk=xfs&iops=3000&memory=2G&name=demo`."""

from __future__ import annotations

import enum
import re
from urllib.parse import parse_qsl

from dbdyno.model.errors import UsageError
from dbdyno.model.record import Record

SCHEME = "sandbox:"
DEFAULT_NAME = "default"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)
_FACTORS = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4}
_MEMORY_BYTES_MIN = 64 * 1024**2
_SIZE_BYTES_MIN = 512 * 1024**2


class Disk(enum.StrEnum):
    PLAIN = "plain"
    """A folder on the disk that is there."""
    EXT4 = "ext4"
    XFS = "xfs"
    BTRFS = "btrfs"
    """A file system of its own in an image file, on a loop device."""


class SandboxOptions(Record, frozen=True, kw_only=True):
    disk: Disk = Disk.PLAIN
    iops: int | None = None
    """Limit on reads and on writes, each, in operations per second; None: no limit."""
    read_iops: int | None = None
    write_iops: int | None = None
    """Take the place of `iops` for one direction."""
    size_bytes: int | None = None
    """Of the image file (sparse); None: 20 GiB, or four fifths of the free space when that is less."""
    memory_bytes: int | None = None
    """Limit of the server's memory, page cache included; None: no limit."""
    bin_dir: str | None = None
    dir: str | None = None
    """Folder to put the sandbox's own folder in, instead of dyno's home."""
    version: str | None = None
    """Major or full version that the binaries must have: `15`, `18.4`."""
    port: int | None = None
    """TCP port on loopback; None: any free one."""

    @property
    def iops_read(self) -> int | None:
        return self.read_iops if self.read_iops is not None else self.iops

    @property
    def iops_write(self) -> int | None:
        return self.write_iops if self.write_iops is not None else self.iops


def check_name(name: str) -> str:
    """The name again. Raises `UsageError` when it cannot be a folder's name."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            "This cannot be the name of a sandbox.",
            found=repr(name),
            todo="use letters, digits, '.', '_' and '-', at most 63, the first a letter or digit",
        )
    return name


def parse_size(text: str, what: str) -> int:
    """Bytes of `2G`, `512M`, `1.5GiB`, `4096`; units are multiples of 1024."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"{what} is not a size.", found=repr(text), todo="write it like 512M, 2G or 1.5G")
    return int(float(match[1]) * _FACTORS[match[2].upper()])


def _number(text: str, what: str) -> int:
    if not re.fullmatch(r"\d{1,9}", text) or int(text) == 0:
        raise UsageError(f"{what} is not a positive whole number.", found=repr(text))
    return int(text)


def make_options(words: dict[str, str]) -> SandboxOptions:
    """Options from words by name. Raises `UsageError` for unknown names and values that cannot be."""
    known = ("disk", "iops", "read_iops", "write_iops", "size", "memory", "bin", "bin_dir", "dir", "version", "port")
    if unknown := sorted(set(words) - set(known)):
        raise UsageError("A sandbox has no option " + ", ".join(unknown) + ".", todo="use: name, " + ", ".join(known))
    disk = words.get("disk", "plain")
    if disk not in set(Disk):
        raise UsageError(f"There is no disk {disk!r}.", todo="use one of: " + ", ".join(Disk))
    numbers = {
        name: _number(words[name], name) for name in ("iops", "read_iops", "write_iops", "port") if name in words
    }
    if numbers.get("port", 1) > 65535:
        raise UsageError("A port is a number from 1 to 65535.", found=words["port"])
    if disk == Disk.PLAIN and (limits := [name for name in numbers if name.endswith("iops")]):
        raise UsageError(
            f"{limits[0]} needs a disk of the sandbox's own: a limit on a plain folder would slow the whole machine.",
            todo="add disk=xfs (or ext4, btrfs)",
        )
    size = parse_size(words["size"], "size") if "size" in words else None
    memory = parse_size(words["memory"], "memory") if "memory" in words else None
    if size is not None and size < _SIZE_BYTES_MIN:
        raise UsageError("size is too small for a file system and a server.", found=words["size"], todo="at least 512M")
    if memory is not None and memory < _MEMORY_BYTES_MIN:
        raise UsageError("memory is too small for a server.", found=words["memory"], todo="at least 64M")
    return SandboxOptions(
        disk=Disk(disk),
        iops=numbers.get("iops"),
        read_iops=numbers.get("read_iops"),
        write_iops=numbers.get("write_iops"),
        size_bytes=size,
        memory_bytes=memory,
        bin_dir=words.get("bin") or words.get("bin_dir"),
        dir=words.get("dir"),
        version=words.get("version"),
        port=numbers.get("port"),
    )


class SandboxUrl(Record, frozen=True, kw_only=True):
    engine: str
    name: str
    options: SandboxOptions
    given: tuple[str, ...] = ()
    """Fields of the options that the user wrote; the others take what an existing sandbox has."""


_FIELDS = {"size": "size_bytes", "memory": "memory_bytes", "bin": "bin_dir"}


def parse_url(text: str) -> SandboxUrl:
    """Reads `sandbox:<engine>[/<name>][?option=value&…]`. Raises `UsageError`.

    The option `engine` chooses one of several engines that live in the same server: it becomes `<server>+<engine>`, as
    the scheme of a URL is written.
    """
    body, _, query = text.removeprefix(SCHEME).partition("?")
    engine, _, path_name = body.strip("/").partition("/")
    if not text.startswith(SCHEME) or not engine:
        raise UsageError(
            "This is not the address of a sandbox.", found=repr(text), todo="write sandbox:<engine>?name=demo"
        )
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
    except ValueError:
        raise UsageError(
            "The options of the sandbox cannot be read.", found=repr(query), todo="write ?disk=xfs&iops=3000"
        ) from None
    words = dict(pairs)
    if len(words) != len(pairs):
        raise UsageError("An option of the sandbox is given twice.", found=repr(query))
    name = words.pop("name", path_name) or DEFAULT_NAME
    if path_name and name != path_name:
        raise UsageError("The sandbox has two names.", found=f"{path_name} and {name}")
    if inner := words.pop("engine", ""):
        engine = f"{engine}+{inner}"
    options = make_options(words)
    given = tuple(sorted(_FIELDS.get(word, word) for word in words))
    return SandboxUrl(engine=engine, name=check_name(name), options=options, given=given)
