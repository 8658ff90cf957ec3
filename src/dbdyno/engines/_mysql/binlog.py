"""Reads from the files of the binary log which rows were inserted: what replicas and a recovery to a moment would get.

Both ways in which the family logs a row are understood, the statement and the row image; of row images only columns of
whole numbers. A log that is compressed or encrypted is not. Sources: MySQL 8.0 source code documentation, "Binlog
Event" (2018); MariaDB documentation, "2-Binlog Event Header" and "Rows_event_v1/v2" (2024).
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from dbdyno.engines._mysql.damage import execute
from dbdyno.model.crash import Logged
from dbdyno.model.errors import TargetError
from dbdyno.model.target import Secret, Target

FILE_BYTES_MAX = 2 << 30
"""Of a proof's short load; more is not read."""
_MAGIC = b"\xfebin"
_HEADER = struct.Struct("<IBIIIH")
_QUERY, _FORMAT, _XID, _TABLE_MAP = 2, 15, 16, 19
_BEGINS = frozenset({33, 34, 162})
"""Events with a global transaction id; one of them, or a statement BEGIN, opens a transaction."""
_WRITES = {23: 8, 30: 10}
"""Row images of inserts, with the bytes of their header (the later kind may have more)."""
_UNREADABLE = {40: "compressed", 164: "encrypted", 165: "compressed", 166: "compressed", 169: "compressed"}
_WIDTHS = {1: "b", 2: "h", 3: "i", 8: "q"}
"""Types of whole numbers with their shape, signed, little endian."""

Key = tuple[int, int]


class _Unreadable(Exception):
    """With the reason."""


def logged(target: Target, secret: Secret, table: str) -> Logged | None:
    """The first two columns, whole numbers, of all rows that a committed transaction of the log inserted into a table;
    None when the server keeps no log. Raises `TargetError`."""
    (on, place), *_ = execute(target, secret, "SELECT @@log_bin, @@log_bin_basename")
    if not int(on):
        return None
    names = [str(row[0]) for row in execute(target, secret, "SHOW BINARY LOGS")]
    if int(names[0].rpartition(".")[2]) != 1:
        return Logged(problem=f"the binary log begins with {names[0]}: what was before is gone")
    keys: set[Key] = set()
    try:
        for name in names:
            keys |= read(Path(str(place)).parent / name, table)
    except _Unreadable as error:
        return Logged(problem=str(error))
    except OSError as error:
        raise TargetError("The binary log cannot be read.", found=str(error)) from None
    return Logged(keys=frozenset(keys))


def read(file: Path, table: str) -> set[Key]:
    """The same of one file."""
    if file.stat().st_size > FILE_BYTES_MAX:
        raise _Unreadable(f"{file.name} has more than {FILE_BYTES_MAX >> 30} GiB")
    return inserted(file.read_bytes(), table)


def inserted(content: bytes, table: str) -> set[Key]:
    """The same of a file's bytes. What follows the last whole event was never written to the end, and is left out."""
    reader = _Reader(table)
    for kind, body in events(content):
        reader.take(kind, body)
    return reader.keys


def events(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Kind and body of each whole event, without its header and checksum."""
    if not content.startswith(_MAGIC):
        return
    at, summed = len(_MAGIC), False
    while at + _HEADER.size <= len(content):
        _, kind, _, size, _, _ = _HEADER.unpack_from(content, at)
        end = at + size
        if size < _HEADER.size or end > len(content):
            return
        if kind == _FORMAT:
            # The algorithm stands before the event's own checksum: 1 is CRC-32, 0 none.
            summed = content[end - 5] == 1
        # A server marks a file as open in its first event, and leaves the mark out of the checksum.
        sound = not summed or kind == _FORMAT or zlib.crc32(content[at : end - 4]) == _little(content[end - 4 : end])
        if not sound:
            return
        yield kind, content[at + _HEADER.size : end - 4 * summed]
        at = end


@dataclass
class _Reader:
    table: str
    keys: set[Key] = field(default_factory=set)
    _pending: list[Key] = field(default_factory=list)
    """Of the transaction that is open."""
    _maps: dict[int, tuple[str, bytes]] = field(default_factory=dict)
    """Table and types of columns by the number that row images name them with."""

    def __post_init__(self) -> None:
        values = r"\s*(?:\([^)]*\))?\s*VALUES\s*\(\s*(-?\d+)\s*,\s*(-?\d+)"
        self._insert = re.compile(rb"INSERT INTO `?" + re.escape(self.table).encode() + rb"`?" + values.encode(), re.I)

    def take(self, kind: int, body: bytes) -> None:
        if kind in _UNREADABLE:
            raise _Unreadable(f"the binary log is {_UNREADABLE[kind]}")
        if kind in _BEGINS:
            self._pending.clear()
        elif kind == _XID:
            self._commit()
        elif kind == _QUERY:
            self._statement(statement(body))
        elif kind == _TABLE_MAP:
            self._map(body)
        elif kind in _WRITES:
            self._rows(kind, body)

    def _commit(self) -> None:
        self.keys.update(self._pending)
        self._pending.clear()

    def _statement(self, text: bytes) -> None:
        word = text.strip().upper()
        if word == b"COMMIT":
            self._commit()
        elif word in (b"BEGIN", b"ROLLBACK"):
            self._pending.clear()
        elif found := self._insert.match(text.strip()):
            self._pending.append((int(found[1]), int(found[2])))

    def _map(self, body: bytes) -> None:
        at = 8
        at += 2 + body[at]
        length = body[at]
        name = body[at + 1 : at + 1 + length].decode("utf-8", "replace")
        at += 2 + length
        count, at = packed(body, at)
        self._maps[_number(body)] = (name, body[at : at + count])

    def _rows(self, kind: int, body: bytes) -> None:
        name, types = self._maps.get(_number(body), ("", b""))
        if name != self.table:
            return
        at = _WRITES[kind]
        if kind == 30:
            at += _little(body[8:10]) - 2
        count, at = packed(body, at)
        bitmap = (count + 7) // 8
        at += bitmap
        try:
            row = struct.Struct("<" + "".join(_WIDTHS[one] for one in types[:count]))
        except KeyError:
            raise _Unreadable(f"{self.table} has columns that are no whole numbers") from None
        # No column of the table may be NULL: each row is a bitmap of zeros and the values.
        while at + bitmap + row.size <= len(body):
            first, second, *_ = row.unpack_from(body, at + bitmap)
            self._pending.append((first, second))
            at += bitmap + row.size


def _number(body: bytes) -> int:
    return _little(body[:6])


def _little(word: bytes) -> int:
    return int.from_bytes(word, "little")


def packed(body: bytes, at: int) -> tuple[int, int]:
    """A length-encoded number, and where it ends."""
    width = {0xFC: 2, 0xFD: 3, 0xFE: 8}.get(body[at], 0)
    if not width:
        return body[at], at + 1
    return _little(body[at + 1 : at + 1 + width]), at + 1 + width


def statement(body: bytes) -> bytes:
    """The words of a statement's event: after its header stand variables of the session, the database and a zero."""
    variables, database = _little(body[11:13]), body[8]
    return body[13 + variables + database + 1 :]
