"""Making, finding and listing private servers. Each stands in dyno's home by its name, as a folder or as a link to a
folder elsewhere (`dir=`, or a shared place when the home is closed to the server's user)."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path

from dbdyno.engines.registry import engine_named
from dbdyno.model.clock import Clock
from dbdyno.model.engine import Engine, Installation, Recipe
from dbdyno.model.errors import HostError, SandboxError, UsageError
from dbdyno.model.home import Home
from dbdyno.model.knob import Value
from dbdyno.sandbox import copying, limits
from dbdyno.sandbox.copying import ResetCost
from dbdyno.sandbox.disk import Volume, why_not
from dbdyno.sandbox.identity import reachable, sandbox_parent, server_identity
from dbdyno.sandbox.options import Disk, SandboxOptions, check_name
from dbdyno.sandbox.private import Sandbox, wipe
from dbdyno.sandbox.process import Identity
from dbdyno.sandbox.records import SandboxRecord, SandboxSummary, read_record, write_record

__all__ = ["ResetCost", "Sandbox", "SandboxOptions", "create", "list_sandboxes", "open_sandbox"]

USER = "dyno"
"""The all-mighty user of each private server, and the name of its database."""
_SOCKET_PATH_MAX = 90
"""Of a socket's folder: an address holds 107 bytes, the server adds a file name."""
_IOPS_SLACK = 1.3
_PASSWORD_BYTES = 18

Note = Callable[[str], None]


def _ignore(_: str) -> None:
    """For callers that look at `Sandbox.notes` instead."""


def create(
    home: Home,
    engine: Engine,
    name: str,
    options: SandboxOptions,
    *,
    clock: Clock,
    on_note: Note = _ignore,
    made_with: Mapping[str, Value] | None = None,
) -> Sandbox:
    """Makes a private server; it does not run yet. What the machine cannot give is noted, and done without.

    `made_with` are settings that a server takes only when it is made (the size of its pages).

    Raises `UsageError` for a name that is taken or binaries that are not there, `SandboxError` when it cannot be made;
    then nothing of it is left.
    """
    check_name(name)
    entry = home.sandboxes / name
    if (entry / "sandbox.json").exists():
        raise UsageError(
            f"There is a sandbox {name!r} already.",
            found=str(entry.resolve()),
            todo=f"choose another name, or remove it: dyno sandbox rm {name}",
        )
    identity, note = server_identity()
    notes = [note] if note else []
    installation = reachable(_choose(engine.recipe(), options), identity)
    parent = sandbox_parent(home.sandboxes, Path(options.dir).absolute() if options.dir else None, identity)
    folder = parent / name
    if folder.exists() and not _cut_off(folder):
        raise UsageError(f"The folder {folder} exists and is not a sandbox.", todo="choose another name or folder")
    wipe(folder, clock)
    if entry.is_symlink():
        entry.unlink()
    try:
        record = _build(folder, engine, options, installation, identity=identity, notes=notes, clock=clock,
                        made_with=dict(made_with or {}))  # fmt: skip
        for one in record.notes:
            on_note(one)
        sandbox = Sandbox(folder, record, engine, clock)
        sandbox.release()
        write_record(folder / "sandbox.json", record)
    except BaseException:
        wipe(folder, clock)
        raise
    if folder != entry.absolute() and not entry.exists():
        home.sandboxes.mkdir(parents=True, exist_ok=True)
        entry.symlink_to(folder)
    return sandbox


def _cut_off(folder: Path) -> bool:
    return folder.is_dir() and (not any(folder.iterdir()) or (folder / "creating").exists())


def _choose(recipe: Recipe, options: SandboxOptions) -> Installation:
    found = recipe.installations(Path(options.bin_dir).absolute() if options.bin_dir else None)
    if options.version:
        fitting = [
            one
            for one in found
            if one.version_text == options.version
            or one.version_text.split()[0].startswith(options.version + ".")
            or one.version_text.split()[0] == options.version
        ]
        if not fitting:
            raise UsageError(
                f"No server of version {options.version} is installed.",
                found=", ".join(f"{one.version_text} ({one.bin})" for one in found) or "no server at all",
                todo="install it, or name its folder with bin=",
            )
        return fitting[0]
    if not found:
        raise UsageError(
            "No server is installed.", todo="install the extra of this engine, a system package, or name bin="
        )
    return found[0]


def _build(
    folder: Path,
    engine: Engine,
    options: SandboxOptions,
    installation: Installation,
    *,
    identity: Identity | None,
    notes: list[str],
    clock: Clock,
    made_with: dict[str, Value],
) -> SandboxRecord:
    folder.mkdir(parents=True)
    folder.chmod(0o711)
    # Says to the next creation that this folder is ours, should this one be cut off.
    (folder / "creating").touch()
    wished = options
    volume, options = _make_volume(folder, options, notes)
    point = folder / "volume"
    point.mkdir(exist_ok=True)
    if identity:
        os.chown(point, identity.uid, identity.gid)
    point.chmod(0o711)
    options, measured = _try_limits(volume, options, notes, folder, clock)
    password = folder / "secret"
    _write_secret(password, identity)
    engine.recipe().initialise(
        installation,
        point / "data",
        user=USER,
        run_as=identity.name if identity else None,
        password_file=password,
        made_with=made_with,
    )
    if identity:
        os.chown(password, os.getuid(), os.getgid())
    copying.flush(point)
    (folder / "creating").unlink()
    return SandboxRecord(
        name=folder.name,
        engine=engine.name,
        installation=installation,
        made_with=made_with,
        options=options,
        wished=wished if wished != options else None,
        identity=identity,
        user=USER,
        database=USER,
        socket_dir=str(_socket_dir(folder)),
        created_unix_s=clock.unix(),
        iops_measured=measured,
        notes=tuple(notes),
    )


def _make_volume(folder: Path, options: SandboxOptions, notes: list[str]) -> tuple[Volume | None, SandboxOptions]:
    if options.disk == Disk.PLAIN:
        return None, options
    reason = why_not(options.disk)
    if not reason:
        volume = Volume(image=folder / "disk.img", point=folder / "volume", disk=options.disk)
        try:
            volume.make(options.size_bytes, notes.append)
        except (HostError, OSError) as error:
            reason = str(error).replace("\n", " ")
            volume.detach_devices()
            volume.image.unlink(missing_ok=True)
        else:
            return volume, options
    lost = " and without a limit on its operations" if options.iops_read or options.iops_write else ""
    notes.append(f"no {options.disk} disk of its own: {reason}; the data is on the plain disk{lost}")
    changed = _replace(options, disk=Disk.PLAIN, iops=None, read_iops=None, write_iops=None, size_bytes=None)
    return None, changed


def _try_limits(
    volume: Volume | None, options: SandboxOptions, notes: list[str], folder: Path, clock: Clock
) -> tuple[SandboxOptions, float | None]:
    """Sets the limits once to see whether they hold. What does not is noted and left out from then on."""
    measured = None
    key = f"dyno-{folder.name}-{hashlib.sha256(str(folder).encode()).hexdigest()[:8]}"
    if volume and (options.iops_read or options.iops_write):
        device = Path(volume.devices()[0]).name
        tried = limits.limit_io(device, options.iops_read, options.iops_write, key)
        try:
            if tried.notes:
                notes.extend(tried.notes)
                options = _replace(options, iops=None, read_iops=None, write_iops=None)
            elif options.iops_write and not tried.join:
                # Only where the server needs to join no group does the limit hold for us, too.
                measured = limits.measure_write_iops(volume.point, clock)
                if measured and measured > options.iops_write * _IOPS_SLACK:
                    notes.append(f"the limit of {options.iops_write} writes/s does not hold: {measured:.0f} were made")
        finally:
            limits.limit_io(device, None, None, key)
            limits.remove_groups(tried.made)
    if options.memory_bytes:
        tried = limits.limit_memory(options.memory_bytes, key)
        limits.remove_groups(tried.made)
        if tried.notes:
            notes.extend(tried.notes)
            options = _replace(options, memory_bytes=None)
    return options, measured


def _replace(options: SandboxOptions, **changes: object) -> SandboxOptions:
    fields = {name: getattr(options, name) for name in SandboxOptions.__struct_fields__}
    return SandboxOptions(**{**fields, **changes})


def _write_secret(path: Path, identity: Identity | None) -> None:
    """A password for TCP. It is drawn from the kernel, not from a seed: it is the one thing that must not repeat."""
    with Path("/dev/urandom").open("rb") as source:
        password = source.read(_PASSWORD_BYTES).hex()
    path.touch(mode=0o600)
    path.write_text(password + "\n", encoding="ascii")
    if identity:
        # The tool that makes the server reads it as that user.
        os.chown(path, identity.uid, identity.gid)


def _socket_dir(folder: Path) -> Path:
    near = folder / "run"
    if len(str(near).encode()) <= _SOCKET_PATH_MAX:
        return near
    base = Path("/run") if os.geteuid() == 0 else Path(os.environ.get("XDG_RUNTIME_DIR") or "/tmp")
    return base / f"dyno-{os.getuid()}-{hashlib.sha256(str(folder).encode()).hexdigest()[:12]}"


def open_sandbox(home: Home, engine_name: str | None, name: str, *, clock: Clock) -> Sandbox:
    """The sandbox of that name. Raises `SandboxError` when there is none, or it is of another engine."""
    folder = home.sandboxes / check_name(name)
    if not (folder / "sandbox.json").exists():
        others = ", ".join(sorted(_names(home))) or "none"
        raise SandboxError(
            f"There is no sandbox {name!r}.", found=f"sandboxes: {others}", todo="dyno sandbox create makes one"
        )
    folder = folder.resolve()
    record = read_record(folder / "sandbox.json", SandboxRecord)
    if engine_name is not None and not _is_one_of(record, engine_named(engine_name)):
        made = record.installation.scheme or record.engine
        raise SandboxError(f"The sandbox {name!r} is one of {made}, not of {engine_name}.")
    return Sandbox(folder, record, engine_named(record.engine), clock)


def _is_one_of(record: SandboxRecord, engine: Engine) -> bool:
    product = record.installation.scheme
    return record.engine == engine.name and (not product or product in engine.schemes)


def exists(home: Home, name: str) -> bool:
    return (home.sandboxes / check_name(name) / "sandbox.json").exists()


def _names(home: Home) -> list[str]:
    try:
        return [entry.name for entry in home.sandboxes.iterdir() if entry.is_dir()]
    except FileNotFoundError:
        return []


def list_sandboxes(home: Home, *, clock: Clock) -> list[SandboxSummary]:
    """All of them, by name; what cannot be read is listed as broken with the reason."""
    return [_summary(home, name, clock) for name in sorted(_names(home))]


def _summary(home: Home, name: str, clock: Clock) -> SandboxSummary:
    folder = (home.sandboxes / name).resolve()
    try:
        sandbox = open_sandbox(home, None, name, clock=clock)
    except (SandboxError, UsageError) as error:
        return SandboxSummary(name=name, status="broken", folder=str(folder), notes=(str(error).replace("\n", " "),))
    record = sandbox.record
    return SandboxSummary(
        name=name,
        engine=record.engine,
        product=record.installation.scheme or record.engine,
        status="running" if sandbox.running() else "stopped",
        version=record.installation.version_text,
        disk=disk_words(record.options),
        bytes=used_bytes(folder),
        url=sandbox.url if sandbox.running() else "",
        folder=str(folder),
        notes=record.notes,
    )


def disk_words(options: SandboxOptions) -> str:
    """The disk in a few words: `xfs, 3000 IOPS`."""
    read, write = options.iops_read, options.iops_write
    if read and read == write:
        return f"{options.disk}, {read} IOPS"
    limits_of = [f"{limit} {what}/s" for limit, what in ((read, "reads"), (write, "writes")) if limit]
    return ", ".join([str(options.disk), *limits_of])


def used_bytes(folder: Path) -> int:
    """What a folder takes on the host's disk: holes of an image do not count, and what is mounted in it neither."""
    total, device = 0, folder.stat().st_dev
    for parent, folders, names in os.walk(folder):
        folders[:] = [one for one in folders if _on(os.path.join(parent, one), device)]
        for one in names:
            try:
                total += os.lstat(os.path.join(parent, one)).st_blocks * 512
            except OSError:
                continue
    return total


def _on(path: str, device: int) -> bool:
    try:
        return os.lstat(path).st_dev == device
    except OSError:
        return False


def remove(home: Home, name: str, *, clock: Clock, force: bool = False) -> None:
    """Removes a sandbox; with `force` also one whose record cannot be read."""
    entry = home.sandboxes / check_name(name)
    folder = entry.resolve()
    try:
        open_sandbox(home, None, name, clock=clock).remove()
    except SandboxError:
        if not force or not folder.is_dir() or ((folder / "sandbox.json").exists() and not _unreadable(folder)):
            raise
        wipe(folder, clock)
    if entry.is_symlink():
        entry.unlink()


def _unreadable(folder: Path) -> bool:
    try:
        read_record(folder / "sandbox.json", SandboxRecord)
    except SandboxError:
        return True
    return False
