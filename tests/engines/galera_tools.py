"""Private clusters for tests: nodes of MariaDB with Galera on the loopback interface, as a user without rights.

All nodes begin with the same data folder, which was a cluster of one before, so that a node that joins lacks a few
write sets and no more. The way of copying that a cluster wants to have (`wsrep_sst_method`) is a script that says so.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pymysql

from dbdyno.cli.common import SystemClock
from dbdyno.engines.registry import engine_named
from dbdyno.model.engine import Installation
from dbdyno.model.target import Secret, Target
from dbdyno.sandbox.identity import server_identity

SECRET = Secret("of-the-test")
_PROVIDERS = [
    Path(folder, "libgalera_smm.so") for folder in ("/usr/lib/galera", "/usr/lib64/galera-4", "/usr/lib64/galera")
]
_ACCOUNT = "dyno"
_WITHIN_S = 90
_POLL_S = 0.03
_COPY_NOTHING = """\
#!/bin/sh
# All data are there: the position in the folder is the one that was copied.
while [ $# -gt 0 ]; do
  case "$1" in --role) role=$2 ;; --gtid) gtid=$2 ;; esac
  shift
done
if [ "$role" = donor ]; then echo "done $gtid"; else echo "ready 127.0.0.1:1"; echo "@POSITION@"; fi
"""


def missing() -> str:
    """Why there can be no cluster here; empty when there can."""
    if not any(one.exists() for one in _PROVIDERS):
        return "Galera's library is not installed (Debian: galera-4)"
    return "" if _installation() else "no MariaDB of the system is installed"


def _installation() -> Installation | None:
    """The system's MariaDB: what was fetched from elsewhere may be built without the interface."""
    found = engine_named("mariadb").recipe().installations()
    return next((one for one in found if one.origin == "system"), None)


@dataclass
class Node:
    folder: Path
    port: int
    process: subprocess.Popen[bytes]

    @property
    def url(self) -> str:
        return f"mariadb://{_ACCOUNT}@127.0.0.1:{self.port}/{_ACCOUNT}"

    @property
    def target(self) -> Target:
        return engine_named("mariadb").target(self.url, {})[0]

    @contextlib.contextmanager
    def connected(self) -> Iterator[pymysql.cursors.Cursor]:
        connection = pymysql.connect(
            host="127.0.0.1", port=self.port, user=_ACCOUNT, password=SECRET.reveal() or "", database=_ACCOUNT,
            autocommit=True, read_timeout=60, ssl_disabled=True,
        )  # fmt: skip
        try:
            with connection.cursor() as cursor:
                yield cursor
        finally:
            connection.close()

    def run(self, *statements: str) -> None:
        with self.connected() as cursor:
            for statement in statements:
                cursor.execute(statement)

    def status(self, name: str) -> str:
        with self.connected() as cursor:
            cursor.execute(f"SHOW GLOBAL STATUS LIKE 'wsrep_{name}'")
            row = cursor.fetchone()
        return str(row[1]) if row else ""

    def wait(self, clock: SystemClock, **wanted: str) -> None:
        """Until the node's status has these values; by names without their beginning."""
        deadline = clock.monotonic() + _WITHIN_S
        found: dict[str, str] = {}
        while found != wanted:
            assert self.process.poll() is None, self._log()
            assert clock.monotonic() < deadline, f"{found}\n{self._log()}"
            with contextlib.suppress(pymysql.Error):
                found = {name: self.status(name) for name in wanted}
            if found != wanted:
                clock.sleep(_POLL_S)

    def kill(self) -> None:
        """It says no goodbye to the others."""
        self.process.kill()
        self.process.wait()

    def _log(self) -> str:
        return (self.folder / "log").read_text(errors="replace")[-3000:]


@contextlib.contextmanager
def cluster(clock: SystemClock, settings: list[Mapping[str, object]]) -> Iterator[list[Node]]:
    """As many nodes as there are settings, all of them synced."""
    one = _installation()
    assert one is not None
    root = Path(tempfile.mkdtemp(prefix="dyno-test-"))
    root.chmod(0o755)
    identity, _ = server_identity()
    user = identity.name if identity else None
    maker = _Maker(root, one, user, _free_ports(3 * len(settings)))
    nodes: list[Node] = []
    try:
        maker.first(clock)
        for number, more in enumerate(settings):
            nodes.append(maker.start(number, more))
            if number == 0:
                nodes[0].wait(clock, ready="ON")
        for node in nodes:
            node.wait(clock, local_state_comment="Synced", cluster_size=str(len(settings)))
        yield nodes
    finally:
        for node in nodes:
            node.kill()
        shutil.rmtree(root)


@dataclass
class _Maker:
    root: Path
    installation: Installation
    user: str | None
    ports: list[int]

    def first(self, clock: SystemClock) -> None:
        """The data that all nodes begin with: made, and once a cluster of one, which gives them their place in it."""
        begin = self.root / "begin"
        begin.mkdir()
        self._own(begin)
        password = self.root / "password"
        password.write_text(SECRET.reveal() or "")
        recipe = engine_named("mariadb").recipe()
        recipe.initialise(self.installation, begin / "data", user=_ACCOUNT, run_as=self.user, password_file=password)
        alone = self._started(begin, 0, {"wsrep_sst_method": "none"}, "--wsrep-new-cluster")
        try:
            alone.wait(clock, local_state_comment="Synced")
            alone.process.send_signal(signal.SIGTERM)
            alone.process.wait(_WITHIN_S)
        finally:
            alone.kill()
        state = dict(
            line.split(":", 1) for line in (begin / "data/grastate.dat").read_text().splitlines() if ":" in line
        )
        position = f"{state['uuid'].strip()}:{state['seqno'].strip()}"
        script = self.root / "wsrep_sst_nothing"
        script.write_text(_COPY_NOTHING.replace("@POSITION@", position))
        script.chmod(0o755)

    def start(self, number: int, settings: Mapping[str, object]) -> Node:
        folder = self.root / f"n{number}"
        subprocess.run(["cp", "-a", self.root / "begin", folder], check=True)
        join = "" if number == 0 else f"127.0.0.1:{self.ports[1]}"
        words = {"wsrep_cluster_address": f"gcomm://{join}", "wsrep_sst_method": "nothing", **settings}
        return self._started(folder, number, words, *(["--wsrep-new-cluster"] if number == 0 else []))

    def _started(self, folder: Path, number: int, settings: Mapping[str, object], *options: str) -> Node:
        port, group, transfer = self.ports[3 * number : 3 * number + 3]
        provider = {"gcache.size": "8M", "base_host": "127.0.0.1", "base_port": group, "gmcast.listen_addr":
                    f"tcp://127.0.0.1:{group}", "ist.recv_addr": f"127.0.0.1:{transfer}"}  # fmt: skip
        words: dict[str, object] = {
            "bind-address": "127.0.0.1", "port": port, "socket": folder / "mysql.sock", "pid-file": folder / "pid",
            "tmpdir": folder, "binlog_format": "ROW", "innodb_autoinc_lock_mode": 2, "innodb_buffer_pool_size": "32M",
            "innodb_log_file_size": "16M", "wsrep_on": "ON", "wsrep_cluster_name": "dyno", "wsrep_node_name":
            f"n{number}", "wsrep_provider": next(one for one in _PROVIDERS if one.exists()), "wsrep_node_address":
            "127.0.0.1", "wsrep_cluster_address": "gcomm://", "wsrep_provider_options":
            '"' + ";".join(f"{name}={value}" for name, value in provider.items()) + '"', **settings,
        }  # fmt: skip
        file = folder / "node.cnf"
        lines = [
            "[server]",
            "skip-name-resolve",
            "skip-log-bin",
            *(f"{name} = {value}" for name, value in words.items()),
        ]
        file.write_text("\n".join(lines) + "\n")
        self._own(file)
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                [f"{self.installation.bin}/mariadbd", f"--defaults-file={file}", f"--datadir={folder}/data", *options],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder, user=self.user,
                env={"PATH": f"{self.root}:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C", "TZ": "UTC"},
            )  # fmt: skip
        return Node(folder, port, process)

    def _own(self, path: Path) -> None:
        if self.user:
            entry = pwd.getpwnam(self.user)
            os.chown(path, entry.pw_uid, entry.pw_gid)


def _free_ports(count: int) -> list[int]:
    """Ports that nobody listens on now, all different."""
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in sockets]
