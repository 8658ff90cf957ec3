"""How to make and run a private server of the family.

Programs come from the system, from `PATH`, or from a folder of servers that `tools/servers` filled. The account of the
new server is made by a first, short run without a network (`--init-file`): MySQL can make accounts neither while
it initialises a data folder nor in its bootstrap mode.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pymysql

from dbdyno.engines._mysql import units, versions
from dbdyno.engines._mysql.connection import SOCKET, connection_to
from dbdyno.model.engine import Installation
from dbdyno.model.errors import SandboxError, UsageError
from dbdyno.model.home import fetched_servers
from dbdyno.model.knob import Assignment, Value
from dbdyno.model.target import Secret, Target

PROGRAMS = ("mariadbd", "mysqld")
OPTION_FILE = "dyno.cnf"
_PLUGINS = ("lib/mysql/plugin", "lib/plugin", "lib64/mysql/plugin", "lib/x86_64-linux-gnu/mariadb/plugin")
_VERSION_MIN = {"mysql": 50700, "mariadb": versions.MARIADB + 100500}
_VERSION_CERTIFICATES = versions.MARIADB + 110400
_INITIALISE_TIMEOUT_S = 300
_SIGNALS = {"smart": signal.SIGTERM, "fast": signal.SIGTERM, "immediate": signal.SIGKILL}
"""It has no signal for a quick end without a checkpoint: the last is a crash of the process."""
_ORIGINS = ("system", "path", "fetched")


class MySQLRecipe:
    """See `dbdyno.model.engine.Recipe`.

    `products` are the URL schemes that may be served, by the vendor's own (`mariadb`, `mysql`); `plugin` is the library
    of a storage engine that has to be there, `lines` go into every option file, and `written` turns an assignment into
    what the server takes, where a storage engine names things otherwise.
    """

    def __init__(
        self,
        products: dict[str, str],
        *,
        plugin: str = "",
        lines: Sequence[str] = (),
        written: Callable[[Assignment], Assignment] = dict,
    ) -> None:
        self._products = products
        self._plugin = plugin
        self._lines = tuple(lines)
        self._written = written

    def installations(self, bin_dir: Path | None = None) -> list[Installation]:
        if bin_dir is not None:
            return [self._demanded(bin_dir)]
        found: list[Installation] = []
        for folder, origin in _candidates(os.environ):
            one = self._look(folder, origin)
            if one and all(Path(one.bin) != Path(other.bin) or one.version != other.version for other in found):
                found.append(one)
        schemes = list(self._products.values())
        return sorted(found, key=lambda one: (schemes.index(one.scheme), _ORIGINS.index(one.origin), -one.version))

    def _demanded(self, bin_dir: Path) -> Installation:
        folder = next((one for one in (bin_dir, bin_dir / "bin", bin_dir / "sbin") if _program(one)), None)
        if folder is None:
            raise UsageError(
                f"{bin_dir} holds no server of this kind.",
                found="missing: " + " or ".join(PROGRAMS),
                todo="name the folder that holds the server's program",
            )
        version, words = _version(folder)
        if version is None:
            raise UsageError(
                f"{_program(folder)} --version gives no version.", found=words, todo="install what it misses"
            )
        one = self._look(folder, "--bin")
        if one is None:
            raise UsageError(
                f"{folder} holds {version[1]}, which cannot serve here.",
                found=f"wanted: {', '.join(self._products)}" + (f" with {self._plugin}" if self._plugin else ""),
                todo="name another folder, or another kind of sandbox",
            )
        return one

    def _look(self, folder: Path, origin: str) -> Installation | None:
        version, _words = _version(folder)
        if version is None:
            return None
        product = versions.product(version[0])
        if product not in self._products or version[0] < _VERSION_MIN[product]:
            return None
        if self._plugin and plugin_folder(folder, self._plugin) is None:
            return None
        return Installation(
            version=version[0],
            version_text=version[1],
            bin=str(folder.resolve()),
            origin=origin,
            scheme=self._products[product],
        )

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
        """Makes a data folder with the one account `user`, who may do everything, and a database of the same name.

        Raises `SandboxError` with the tool's words.
        """
        options = [f"--{line.replace(' ', '')}" for line in units.option_lines(dict(made_with or {}))]
        done = _run_as(run_as, [*_initialiser(installation, data), *options], data.parent)
        if done.returncode == 0 and (data / "mysql").is_dir():
            password = password_file.read_text(encoding="ascii").strip() if password_file else ""
            statements = data.parent / "init.sql"
            _write_for(run_as, statements, "\n".join(account_statements(installation, user, password)) + "\n")
            try:
                # Not every file system takes a socket, and a path may be too long for one.
                with tempfile.TemporaryDirectory(prefix="dyno-first-") as near:
                    if run_as:
                        shutil.chown(near, run_as)
                    command = [*self._first_run(installation, data, statements, Path(near)), *options]
                    done = _run_as(run_as, command, data.parent)
            finally:
                statements.unlink(missing_ok=True)
            # A statement that fails does not fail the server: it goes on and never reaches its own end.
            if done.returncode == 0 and (data / user).is_dir():
                return
        raise SandboxError(
            f"A new server of version {installation.version_text} could not be made.",
            found=_last_words(done),
            todo="check free space, the rights on the folder, and that the libraries of the server are installed",
        )

    def _first_run(self, installation: Installation, data: Path, statements: Path, near: Path) -> list[str]:
        command = [str(_program(Path(installation.bin))), "--no-defaults", *_places(installation, data)]
        command += [f"--init-file={statements}", "--skip-networking", "--skip-log-bin"]
        command += [f"--socket={near / 'first.sock'}", f"--pid-file={near / 'first.pid'}"]
        if installation.version >= _VERSION_CERTIFICATES:
            command.append("--skip-ssl")
        return command

    def configure(self, data: Path, *, port: int, socket_dir: Path, assignment: Assignment) -> None:
        lines = [
            "# Written anew by dyno before each start; changes made here are lost.",
            "[server]",
            "bind-address = 127.0.0.1",
            f"port = {port}",
            f"socket = {socket_dir / SOCKET}",
            f"pid-file = {socket_dir / 'server.pid'}",
            "# A server that starts removes temporary tables from this folder, also those of others that share it.",
            f"tmpdir = {socket_dir}",
            "skip-name-resolve",
            "# Used when the assignment switches the binary log on.",
            "server-id = 1",
            *self._lines,
        ]
        if assignment:
            lines += ["", "# The assignment.", *units.option_lines(self._written(assignment))]
        _replace(data / OPTION_FILE, "\n".join(lines) + "\n")
        # Settings that SET PERSIST made belong to the last configuration.
        (data / "mysqld-auto.cnf").unlink(missing_ok=True)
        # The server takes a socket's lock for a living server when another process has got the number since.
        for leftover in (socket_dir / SOCKET, socket_dir / f"{SOCKET}.lock", socket_dir / "server.pid"):
            leftover.unlink(missing_ok=True)

    def command(self, installation: Installation, data: Path) -> list[str]:
        command = [str(_program(Path(installation.bin))), f"--defaults-file={data / OPTION_FILE}"]
        command += _places(installation, data)
        if versions.VERSION_PERSIST <= installation.version < versions.MARIADB:
            # Its second protocol would take a port of its own.
            command.append("--mysqlx=0")
        if installation.version >= _VERSION_CERTIFICATES and not _has_line(data / OPTION_FILE, "ssl"):
            # It would make itself a key at each start, which takes seconds.
            command.append("--skip-ssl")
        return command

    def ready(self, target: Target, secret: Secret) -> bool:
        try:
            with connection_to(target, secret, timeout_s=2) as connection, connection.cursor() as cursor:
                cursor.execute("SELECT 1")
                return bool(cursor.fetchone() == (1,))
        except (pymysql.Error, OSError, RuntimeError):
            return False

    def stop_signal(self, mode: str) -> int:
        return int(_SIGNALS[mode])

    def log_files(self, data: Path) -> list[Path]:
        """The server logs to standard error, which the sandbox keeps."""
        return []


def account_statements(installation: Installation, user: str, password: str) -> list[str]:
    """One statement a line, as an init file takes them. No other account stays that could log in."""
    name, secret = units.quoted(user), units.quoted(password)
    statements = [
        f"CREATE DATABASE `{user}`;",
        f"CREATE USER {name}@'%' IDENTIFIED BY {secret};",
        f"GRANT ALL PRIVILEGES ON *.* TO {name}@'%' WITH GRANT OPTION;",
    ]
    table = "mysql.global_priv" if versions.is_mariadb(installation.version) else "mysql.user"
    kept = "('mariadb.sys', 'mysql.sys', 'mysql.session', 'mysql.infoschema', " + name + ")"
    return [*statements, f"DELETE FROM {table} WHERE User NOT IN {kept};", "FLUSH PRIVILEGES;", "SHUTDOWN;"]


def plugin_folder(folder: Path, plugin: str) -> Path | None:
    """Where the library of a storage engine stands beside a program; None when it does not."""
    base = folder.resolve().parent
    return next((base / one for one in _PLUGINS if (base / one / plugin).exists()), None)


def _candidates(environment: Mapping[str, str]) -> list[tuple[Path, str]]:
    candidates = [(Path(one), "system") for one in ("/usr/sbin", "/usr/libexec", "/usr/local/mysql/bin")]
    for name in PROGRAMS:
        if program := shutil.which(name):
            candidates.append((Path(program).resolve().parent, "path"))
    return candidates + [(folder, "fetched") for folder in fetched_servers(environment)]


def _program(folder: Path) -> Path | None:
    return next((folder / name for name in PROGRAMS if os.access(folder / name, os.X_OK)), None)


def _version(folder: Path) -> tuple[tuple[int, str] | None, str]:
    """Version and its short name; None with the reason when the program does not say."""
    program = _program(folder)
    if program is None:
        return None, "no program"
    command: list[str] = [str(program), "--no-defaults", "--version"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False, env=_ENVIRONMENT)
    except (OSError, subprocess.TimeoutExpired) as error:
        return None, str(error)
    return versions.parse(done.stdout), _last_words(done)


def _initialiser(installation: Installation, data: Path) -> list[str]:
    folder = Path(installation.bin)
    if not versions.is_mariadb(installation.version):
        program = str(_program(folder))
        return [program, "--no-defaults", "--initialize-insecure", *_places(installation, data)]
    base = _base(folder)
    scripts = [base / place / name for place in ("bin", "scripts")
               for name in ("mariadb-install-db", "mysql_install_db")]  # fmt: skip
    script = next((one for one in scripts if one.exists()), scripts[0])
    return [
        str(script), "--no-defaults", f"--basedir={base}", f"--datadir={data}", "--skip-test-db",
        "--skip-name-resolve", "--auth-root-authentication-method=normal",
    ]  # fmt: skip


def _has_line(path: Path, prefix: str) -> bool:
    try:
        return any(line.startswith(prefix) for line in path.read_text(encoding="utf-8").splitlines())
    except OSError:
        return False


def _base(folder: Path) -> Path:
    return folder.resolve().parent


def _places(installation: Installation, data: Path) -> list[str]:
    return [f"--basedir={_base(Path(installation.bin))}", f"--datadir={data}"]


_ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C", "TZ": "UTC"}
"""What a server's program starts with: nothing of the user's that could change it."""


def _run_as(run_as: str | None, command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            command,
            user=run_as,
            group=pwd.getpwnam(run_as).pw_gid if run_as else None,
            extra_groups=[] if run_as else None,
            env=_ENVIRONMENT,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_INITIALISE_TIMEOUT_S,
            umask=0o077,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        words = (error.stderr or b"").decode("utf-8", "replace") if isinstance(error.stderr, bytes) else ""
        return subprocess.CompletedProcess(command, 1, "", f"{words}\nno end after {_INITIALISE_TIMEOUT_S} s")
    except OSError as error:
        return subprocess.CompletedProcess(command, 1, "", str(error))


def _last_words(done: subprocess.CompletedProcess[str]) -> str:
    """The lines that say what is wrong; a missing library, or the last few."""
    lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
    wrong = [line for line in lines if "error while loading" in line or "ERROR" in line]
    return "; ".join((wrong or lines)[-5:])


def _write_for(run_as: str | None, path: Path, text: str) -> None:
    """A file with a password in it, for that user alone."""
    path.unlink(missing_ok=True)
    path.touch(mode=0o600)
    if run_as:
        entry = pwd.getpwnam(run_as)
        os.chown(path, entry.pw_uid, entry.pw_gid)
    path.write_text(text, encoding="utf-8")


def _replace(path: Path, text: str) -> None:
    """Rewrites a file whole, for the owner of the folder it is in."""
    new = path.with_name(path.name + ".new")
    new.write_text(text, encoding="utf-8")
    new.chmod(0o600)
    if os.geteuid() == 0:
        owner = path.parent.stat()
        os.chown(new, owner.st_uid, owner.st_gid)
    new.replace(path)
