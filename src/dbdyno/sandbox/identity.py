"""Who a private server runs as, and whether that user can reach what it needs.

Database servers refuse to run as root. When dyno is root, a system user `dyno` is made once (or `nobody` is taken).
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pwd
import shutil
import subprocess
from pathlib import Path

from dbdyno.model.engine import Installation
from dbdyno.model.errors import SandboxError
from dbdyno.sandbox.process import Identity

SYSTEM_USER = "dyno"
SHARED_ROOT = Path("/var/lib/dyno")
"""Where sandboxes of root go when its own home is closed to others."""


def server_identity() -> tuple[Identity | None, str]:
    """The user to run servers as, None for ourselves; and a note when it is not the one we would like."""
    if os.geteuid() != 0:
        return None, ""
    found = _user(SYSTEM_USER)
    if found is None and (tool := shutil.which("useradd", path="/usr/sbin:/sbin:/usr/bin")):
        subprocess.run(
            [tool, "--system", "--user-group", "--no-create-home", "--home-dir", "/nonexistent",
             "--shell", "/usr/sbin/nologin", SYSTEM_USER],
            capture_output=True, check=False,
        )  # fmt: skip
        found = _user(SYSTEM_USER)
    if found is not None:
        return found, ""
    nobody = _user("nobody")
    if nobody is None:
        raise SandboxError(
            "Servers refuse to run as root, and there is no other user to run one as.",
            todo=f"create one (useradd --system {SYSTEM_USER}), or run dyno as another user",
        )
    return nobody, f"no user {SYSTEM_USER!r} could be made; the server runs as nobody"


def _user(name: str) -> Identity | None:
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        return None
    return Identity(name=name, uid=entry.pw_uid, gid=entry.pw_gid)


def reaches(identity: Identity | None, path: Path, flag: str = "-x") -> bool:
    """Whether that user may enter (or execute) a path; asked of the system, so that ACLs count."""
    if identity is None:
        return os.access(path, os.X_OK)
    done = subprocess.run(
        ["/bin/sh", "-c", f'test {flag} "$1"', "sh", str(path)],
        user=identity.uid, group=identity.gid, extra_groups=[], cwd="/", capture_output=True, check=False,
    )  # fmt: skip
    return done.returncode == 0


def sandbox_parent(sandboxes: Path, wanted: Path | None, identity: Identity | None) -> Path:
    """The folder to make a sandbox's own folder in: `wanted`, or that of dyno's home, or a shared one when the home
    is closed to the server's user (root's usually is). Raises `SandboxError` when `wanted` cannot be entered."""
    parent = wanted or sandboxes
    try:
        parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SandboxError(
            f"The folder {parent} cannot be made.", found=error.strerror or str(error), todo="choose another with dir="
        ) from None
    if reaches(identity, parent):
        return parent.resolve()
    assert identity is not None
    if wanted is not None:
        raise SandboxError(
            f"The server's user {identity.name!r} may not enter {wanted}.",
            found=f"closed: {_closed(wanted, identity)}",
            todo="choose a folder that others may enter, or chmod o+x the closed one",
        )
    shared = SHARED_ROOT / hashlib.sha256(str(sandboxes).encode()).hexdigest()[:8]
    shared.mkdir(parents=True, exist_ok=True)
    for folder in (SHARED_ROOT, shared):
        folder.chmod(0o755)
    return shared


def forget_shared(parent: Path) -> None:
    """Removes a shared folder once the last sandbox in it is gone."""
    if parent.parent == SHARED_ROOT:
        with contextlib.suppress(OSError):
            parent.rmdir()


def _closed(path: Path, identity: Identity) -> str:
    return next((str(one) for one in [*reversed(path.parents), path] if not reaches(identity, one)), str(path))


def reachable(installation: Installation, identity: Identity | None) -> Installation:
    """The installation, or a copy of it when its folder is closed to the server's user.

    Only binaries from a package of ours are copied: they find their files relative to themselves.
    """
    folder = Path(installation.bin)
    if reaches(identity, folder):
        return installation
    assert identity is not None
    if installation.origin != "wheel":
        raise SandboxError(
            f"The server's user {identity.name!r} may not enter {folder}.",
            found=f"closed: {_closed(folder, identity)}",
            todo="choose binaries in a folder that others may enter, or chmod o+x the closed one",
        )
    copy = _copy_package(folder, installation.version_text.split()[0])
    return Installation(
        version=installation.version,
        version_text=installation.version_text,
        bin=str(copy),
        origin=installation.origin,
    )


def _copy_package(folder: Path, version: str) -> Path:
    """Copies the binaries of a package, and the libraries that stand beside the package, as they stand to each other.
    Returns the folder of the copied binaries."""
    package = folder.parent.parent
    libraries = package.with_name(package.name + ".libs")
    root = SHARED_ROOT / "programs" / f"{version}-{hashlib.sha256(str(folder).encode()).hexdigest()[:8]}"
    if not (root / "complete").exists():
        new = root.with_name(f"{root.name}.{os.getpid()}.new")
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(parents=True)
        shutil.copytree(folder.parent, new / package.name / folder.parent.name, symlinks=True)
        if libraries.is_dir():
            shutil.copytree(libraries, new / libraries.name, symlinks=True)
        (new / "complete").touch()
        for one in (SHARED_ROOT, root.parent, new, new / package.name):
            one.chmod(0o755)
        shutil.rmtree(root, ignore_errors=True)
        new.rename(root)
    return root / package.name / folder.parent.name / folder.name
