"""A stand-in for ProxySQL's admin interface: its tables in SQLite, as in the original, behind the MySQL protocol.

It knows what our session says and no more. Source of the packets: MySQL 8.0 internals, "Client/Server Protocol" (2023).
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import socket
import sqlite3
import struct
import threading

SALT = b"abcdefghijklmnopqrst"
_LAYERS = re.compile(r"(LOAD|SAVE) (ADMIN|MYSQL) VARIABLES (TO RUNTIME|TO DISK)$")
VARIABLES = {
    "admin-version": "2.6.3-12-g5b6b8ac", "admin-admin_credentials": "admin:admin", "admin-stats_credentials":
    "stats:geheim", "mysql-monitor_username": "monitor", "mysql-monitor_password": "monitor", "mysql-max_connections":
    "2048", "mysql-multiplexing": "true", "mysql-monitor_enabled": "true", "mysql-threads": "4",
    "mysql-server_version": "8.0.36", "mysql-threshold_query_length": "524288", "mysql-threshold_resultset_size":
    "4194304",
}  # fmt: skip
SCHEMA = """
ATTACH ':memory:' AS disk; ATTACH ':memory:' AS monitor;
CREATE TABLE global_variables (variable_name TEXT PRIMARY KEY, variable_value TEXT);
CREATE TABLE runtime_global_variables (variable_name TEXT PRIMARY KEY, variable_value TEXT);
CREATE TABLE disk.global_variables (variable_name TEXT PRIMARY KEY, variable_value TEXT);
CREATE TABLE runtime_mysql_servers (hostgroup_id INT, hostname TEXT, port INT, gtid_port INT, status TEXT, weight INT,
  compression INT, max_connections INT, max_replication_lag INT, use_ssl INT, max_latency_ms INT, comment TEXT);
CREATE TABLE disk.mysql_servers AS SELECT * FROM runtime_mysql_servers;
CREATE TABLE runtime_mysql_users (username TEXT, password TEXT, active INT, default_hostgroup INT);
CREATE TABLE stats_mysql_global (Variable_Name TEXT, Variable_Value TEXT);
CREATE TABLE stats_mysql_connection_pool (hostgroup INT, srv_host TEXT, srv_port INT, status TEXT, ConnUsed INT,
  ConnFree INT, ConnOK INT, ConnERR INT, MaxConnUsed INT, Queries INT);
CREATE TABLE monitor.mysql_server_ping_log (hostname TEXT, port INT, time_start_us INT, ping_success_time_us INT,
  ping_error TEXT);
"""


class FakeAdmin:
    """Listens on a socket until `close`. `run` changes its tables."""

    def __init__(self, path: str, password: str = "admin") -> None:
        self.path = path
        self._password = password
        self._lock = threading.Lock()
        self._tables = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        self._tables.executescript(SCHEMA)
        for table in ("global_variables", "runtime_global_variables", "disk.global_variables"):
            self._tables.executemany(f"INSERT INTO {table} VALUES (?, ?)", VARIABLES.items())
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(path)
        self._listener.listen(8)
        threading.Thread(target=self._serve, daemon=True).start()

    def run(self, *statements: str) -> list[tuple[object, ...]]:
        with self._lock:
            return [row for statement in statements for row in self._tables.execute(statement).fetchall()]

    def close(self) -> None:
        self._listener.close()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                peer, _ = self._listener.accept()
                threading.Thread(target=self._talk, args=(peer,), daemon=True).start()

    def _talk(self, peer: socket.socket) -> None:
        with contextlib.suppress(OSError, struct.error), peer:
            greeting = (
                b"\x0a5.5.30\0" + struct.pack("<I", 1) + SALT[:8] + b"\0" + struct.pack("<HBHH", 0xA20F, 33, 2, 0x0008)
                + bytes([21]) + b"\0" * 10 + SALT[8:] + b"\0" + b"mysql_native_password\0"
            )  # fmt: skip
            _send(peer, 0, greeting)
            answer, number = _receive(peer)
            if self._proof() not in answer:
                _send(peer, number + 1, _error("Access denied for user"))
                return
            _send(peer, number + 1, _OK)
            while True:
                packet, _ = _receive(peer)
                if packet[:1] != b"\x03":
                    return
                self._answer(peer, packet[1:].decode())

    def _proof(self) -> bytes:
        once = hashlib.sha1(self._password.encode()).digest()
        mask = hashlib.sha1(SALT + hashlib.sha1(once).digest()).digest()
        return bytes(left ^ right for left, right in zip(once, mask, strict=True))

    def _answer(self, peer: socket.socket, query: str) -> None:
        if query.upper().startswith("SET NAMES"):
            _send(peer, 1, _OK)
            return
        try:
            with self._lock:
                if match := _LAYERS.match(query):
                    self._copy(match)
                    columns, rows = [], []
                else:
                    cursor = self._tables.execute(query)
                    columns, rows = [one[0] for one in cursor.description or ()], cursor.fetchall()
        except sqlite3.Error as error:
            _send(peer, 1, _error(f"ProxySQL Admin Error: {error}"))
            return
        if not columns:
            _send(peer, 1, _OK)
            return
        packets = [bytes([len(columns)])]
        packets += [
            b"".join(_text(word) for word in ("def", "", "", "", name, "")) + b"\x0c"
            + struct.pack("<HIBHBxx", 33, 255, 253, 0, 0) for name in columns
        ]  # fmt: skip
        packets += [_END, *(b"".join(_text(value) for value in row) for row in rows), _END]
        for number, packet in enumerate(packets, 1):
            _send(peer, number, packet)

    def _copy(self, match: re.Match[str]) -> None:
        kind = match[2].lower() + "-%"
        to = "runtime_global_variables" if match[3] == "TO RUNTIME" else "disk.global_variables"
        self._tables.execute(
            f"INSERT OR REPLACE INTO {to} SELECT * FROM global_variables WHERE variable_name LIKE ?", (kind,)
        )


_OK = b"\0\0\0\2\0\0\0"
_END = b"\xfe\0\0\2\0"


def _error(words: str) -> bytes:
    return b"\xff" + struct.pack("<H", 1045) + b"#28000" + words.encode()


def _text(value: object) -> bytes:
    if value is None:
        return b"\xfb"
    raw = str(value).encode()
    return (bytes([len(raw)]) if len(raw) < 251 else b"\xfc" + struct.pack("<H", len(raw))) + raw


def _send(peer: socket.socket, number: int, payload: bytes) -> None:
    peer.sendall(struct.pack("<I", len(payload))[:3] + bytes([number & 255]) + payload)


def _receive(peer: socket.socket) -> tuple[bytes, int]:
    head = _exactly(peer, 4)
    return _exactly(peer, int.from_bytes(head[:3], "little")), head[3]


def _exactly(peer: socket.socket, count: int) -> bytes:
    found = b""
    while len(found) < count:
        if not (part := peer.recv(count - len(found))):
            raise OSError("closed")
        found += part
    return found
