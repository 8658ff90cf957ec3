"""How a server of the family is backed up, restored to a place in its binary log, followed and promoted.

Only MariaDB: its own `mariadb-backup` must be of the server's version, and other members have no tool that copies a
running server as a part of them. Sources: MariaDB manual, "mariadb-backup Overview", "Point-in-Time Recovery (PITR)",
"Setting up a Replica with mariadb-backup", "Semisynchronous Replication" (2024).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pymysql

from dbdyno.engines._mysql.connection import connect, socket_file, words_of
from dbdyno.engines._mysql.units import quoted
from dbdyno.model.clock import Clock
from dbdyno.model.drill import MARKERS, Kept, Lag, Moment, Place, Restored, Start
from dbdyno.model.engine import Installation
from dbdyno.model.errors import SandboxError, TargetError
from dbdyno.model.knob import Assignment

_TOOLS = ("mariadb-backup", "mariadb-binlog", "mariadb")
_INFO = ("mariadb_backup_binlog_info", "xtrabackup_binlog_info")
"""Where a backup ends in the binary log: the first name is that of 11.1 and later."""
_NO_BINLOG = "the server writes no binary log (log_bin is off)"
_SEMI_TIMEOUT_MS = 600_000
"""The primary would stop waiting after that, and lose what it acknowledges then; the default is 10 s."""
_APART: Assignment = {"log_bin": "OFF", "rpl_semi_sync_master_enabled": "OFF"}
"""A server that was made from another one must not wait for that one's replicas."""
_POLL_S = 0.02


class Backup:
    """See `dbdyno.model.drill.Backup`. A recovery stops at a place in the binary log: what was acknowledged before it
    was read stands before it, what begins later stands behind it. Times in that log are whole seconds and would not do.
    """

    tool = "mariadb-backup"

    def lacks(self, installation: Installation) -> str:
        programs, scheme = Path(installation.bin), installation.scheme
        missing = [name for name in _TOOLS if _tool(programs, name) is None]
        # A scheme may name a storage engine behind the product.
        if scheme.partition("+")[0] not in ("", "mariadb"):
            return f"dyno knows no tool that copies a running server of this kind ({scheme})"
        return f"{' and '.join(missing)} of the server's version must stand beside {programs}" if missing else ""

    def settings(self, server: Place, archive: Path, *, broken: bool) -> Assignment:
        return {"log_bin": "OFF" if broken else "ON", "sync_binlog": "1"}

    def back_up(self, server: Place, into: Path) -> None:
        server.run([_need(server, self.tool), _defaults(server), "--backup", f"--target-dir={into}"])

    def mark(self, server: Place, word: str) -> None:
        _ask(server, f"CREATE TABLE IF NOT EXISTS {MARKERS} (word varchar(20) PRIMARY KEY)")
        _ask(server, f"INSERT INTO {MARKERS} VALUES ({quoted(word)})")

    def note(self, server: Place) -> Moment:
        rows = _ask(server, "SHOW MASTER STATUS")
        if not rows:
            return Moment(to="", says=f"none: {_NO_BINLOG}")
        file, place = rows[0]["File"], rows[0]["Position"]
        return Moment(to=f"{file} {place}", says=f"{file}, byte {place} (one transaction)")

    def ship(self, server: Place, archive: Path, clock: Clock, timeout_s: float) -> str:
        if not _ask(server, "SHOW MASTER STATUS"):
            return _NO_BINLOG
        _ask(server, "FLUSH BINARY LOGS")
        # The last one is being written.
        closed = [str(row["Log_name"]) for row in _ask(server, "SHOW BINARY LOGS")][:-1]
        server.run(["cp", *(str(server.data / name) for name in closed), f"{archive}/"])
        return ""

    def restore(self, server: Place, kept: Kept, start: Start, clock: Clock) -> Restored:
        began = clock.monotonic()
        _lay(server, kept.backup)
        restore_s = clock.monotonic() - began
        file, place, _ = _end_of(kept.backup)
        last, _, stop = kept.moment.to.partition(" ")
        logs = chain(file, last, os.listdir(kept.archive))
        start(_APART)
        text = server.scratch / "replay.sql"
        server.run(
            [
                _need(server, "mariadb-binlog"), f"--start-position={place}", f"--stop-position={stop}",
                *(str(kept.archive / name) for name in logs),
            ],
            stdout=text,
        )  # fmt: skip
        server.run([_need(server, "mariadb"), _defaults(server)], stdin=text)
        text.unlink()
        return Restored(restore_s=restore_s, replay_s=clock.monotonic() - began - restore_s)


class Replication:
    """See `dbdyno.model.drill.Replication`: by global transaction ids, with or without semi-synchronous replication
    (acknowledged is what the replica has in its relay log; the engine commits after that)."""

    def settings(self, *, synchronous: bool) -> Assignment:
        wait: Assignment = {
            "rpl_semi_sync_master_enabled": "ON",
            "rpl_semi_sync_master_wait_point": "AFTER_SYNC",
            "rpl_semi_sync_master_timeout": str(_SEMI_TIMEOUT_MS),
        }
        return {"log_bin": "ON", "sync_binlog": "1", **(wait if synchronous else {})}

    def follow(self, primary: Place, replica: Place, backup: Path, start: Start, *, synchronous: bool) -> None:
        _lay(replica, backup)
        start({**_APART, "server_id": 2, "rpl_semi_sync_slave_enabled": "ON" if synchronous else "OFF"})
        password = quoted(primary.secret.reveal() or "")
        _ask(replica, f"SET GLOBAL gtid_slave_pos = {quoted(_end_of(backup)[2])}")
        _ask(
            replica,
            f"CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = {primary.target.port}, "
            f"MASTER_USER = {quoted(primary.target.user)}, MASTER_PASSWORD = {password}, "
            "MASTER_USE_GTID = slave_pos, MASTER_CONNECT_RETRY = 1",
        )
        _ask(replica, "START SLAVE")

    def waiting_for(self, primary: Place, replica: Place, *, synchronous: bool) -> str:
        state = _state(replica)
        for thread, error in (("Slave_IO_Running", "Last_IO_Error"), ("Slave_SQL_Running", "Last_SQL_Error")):
            if state.get(thread) != "Yes":
                return f"{thread} is {state.get(thread)} {state.get(error) or ''}".strip()
        if synchronous:
            status = {
                row["Variable_name"]: row["Value"] for row in _ask(primary, "SHOW STATUS LIKE 'rpl_semi_sync_master%'")
            }
            if status.get("Rpl_semi_sync_master_status") != "ON" or status.get("Rpl_semi_sync_master_clients") == "0":
                return "the primary does not wait for the replica (Rpl_semi_sync_master_clients is 0, or status OFF)"
        return ""

    def lag(self, primary: Place, replica: Place) -> Lag | None:
        # The replica first: what comes between the two questions makes the lag longer, not negative.
        there = _ask(replica, "SELECT @@gtid_slave_pos AS place")[0]["place"]
        here = _ask(primary, "SELECT @@gtid_binlog_pos AS place")[0]["place"]
        return Lag(amount=float(transactions(here) - transactions(there)), unit="transactions")

    def cut_off(self, replica: Place) -> None:
        _ask(replica, "STOP SLAVE IO_THREAD")

    def promote(self, replica: Place, clock: Clock, timeout_s: float) -> None:
        _ask(replica, "STOP SLAVE IO_THREAD")
        deadline = clock.monotonic() + timeout_s
        while (state := _state(replica))["Gtid_IO_Pos"] != _ask(replica, "SELECT @@gtid_slave_pos AS p")[0]["p"]:
            if state["Slave_SQL_Running"] != "Yes" or clock.monotonic() > deadline:
                raise SandboxError(
                    "The replica does not apply what it has received.",
                    found=state["Last_SQL_Error"] or f"not within {timeout_s:g} s",
                )
            clock.sleep(_POLL_S)
        for statement in ("STOP SLAVE", "RESET SLAVE ALL", "SET GLOBAL read_only = 0"):
            _ask(replica, statement)


BACKUPS = {Backup.tool: Backup}


def chain(first: str, last: str, there: Sequence[str]) -> list[str]:
    """Names of the logs from the one in which a backup ends to the one that holds the moment. Raises `SandboxError`
    when one of them is not there, or the moment is in none."""
    stem, _, number = first.rpartition(".")
    _, _, end = last.rpartition(".")
    if not last:
        raise SandboxError("There is no moment to recover to.", found=_NO_BINLOG)
    names = [f"{stem}.{one:0{len(number)}d}" for one in range(int(number), int(end) + 1)]
    if missing := [name for name in names if name not in there]:
        raise SandboxError(
            f"The archive lacks {', '.join(missing)}.", found="it has " + (", ".join(there) or "nothing")
        )
    return names


def transactions(position: str) -> int:
    """How many a global transaction id stands for: `0-1-523` is the 523rd of its domain; several domains add up."""
    return sum(int(one.rpartition("-")[2]) for one in position.split(",") if one)


def parse_end(text: str) -> tuple[str, int, str]:
    """File, byte and global transaction id of `binlog.000002<tab>3351<tab>0-1-17`."""
    words = text.split()
    if len(words) < 2:
        raise SandboxError("The backup does not say where it ends in the binary log.", found=_NO_BINLOG)
    return words[0], int(words[1]), words[2] if len(words) > 2 else ""


def _end_of(backup: Path) -> tuple[str, int, str]:
    file = next((backup / name for name in _INFO if (backup / name).exists()), None)
    return parse_end(file.read_text(encoding="utf-8") if file else "")


def _lay(server: Place, backup: Path) -> None:
    """Data from a backup: a copy, made consistent."""
    server.run(["cp", "-a", str(backup), str(server.data)])
    server.run([_need(server, "mariadb-backup"), "--no-defaults", "--prepare", f"--target-dir={server.data}"])


def _tool(programs: Path, name: str) -> Path | None:
    places = (programs / name, programs.parent / "bin" / name)
    return next((place for place in places if os.access(place, os.X_OK)), None)


def _need(server: Place, name: str) -> str:
    found = _tool(server.programs, name)
    assert found is not None, name
    return str(found)


def _defaults(server: Place) -> str:
    """An option file with all that a tool needs to reach the server: a password is no argument."""
    file, target = server.scratch / "client.cnf", server.target
    file.unlink(missing_ok=True)
    file.touch(mode=0o600)
    if os.geteuid() == 0:
        owner = server.scratch.stat()
        os.chown(file, owner.st_uid, owner.st_gid)
    file.write_text(
        f"[client]\nuser = {target.user}\npassword = {server.secret.reveal() or ''}\n"
        f"socket = {socket_file(target.host)}\n[mariadb-backup]\ndatadir = {server.data}\n",
        encoding="utf-8",
    )
    return f"--defaults-file={file}"


def _state(replica: Place) -> dict[str, Any]:
    rows = _ask(replica, "SHOW SLAVE STATUS")
    return rows[0] if rows else {}


def _ask(server: Place, statement: str) -> list[dict[str, Any]]:
    """Raises `TargetError`; its words do not repeat the statement, which may hold a password."""
    connection = connect(server.target, server.secret)
    try:
        with connection.cursor(pymysql.cursors.DictCursor) as cursor:
            cursor.execute(statement)
            return list(cursor.fetchall())
    except (pymysql.Error, OSError) as error:
        number, text = words_of(error)
        raise TargetError("A server of the drill could not be asked.", found=f"{text} (error {number})") from None
    finally:
        connection.close()
