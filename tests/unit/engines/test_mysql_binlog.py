"""What a binary log says was inserted, read from bytes that are made here."""

from __future__ import annotations

import struct
import zlib

import pytest

from dbdyno.engines._mysql import binlog
from dbdyno.engines._mysql.binlog import inserted

MAGIC = b"\xfebin"
QUERY, FORMAT, XID, TABLE_MAP, WRITE_OLD, WRITE = 2, 15, 16, 19, 23, 30
GTID = 162


def event(kind: int, body: bytes, *, summed: bool = True) -> bytes:
    size = 19 + len(body) + 4 * summed
    head = struct.pack("<IBIIIH", 1, kind, 1, size, 0, 0)
    return head + body + (struct.pack("<I", zlib.crc32(head + body)) if summed else b"")


def start(*, summed: bool = True) -> bytes:
    """The first event always has room for a checksum."""
    body = bytes(60) + bytes([summed]) + bytes(4)
    return MAGIC + event(FORMAT, body, summed=False)


def statement(text: str, *, summed: bool = True) -> bytes:
    head = struct.pack("<IIBHH", 1, 0, 4, 0, 3)
    return event(QUERY, head + b"abc" + b"dyno\0" + text.encode(), summed=summed)


def table(number: int, name: str, types: bytes) -> bytes:
    place = number.to_bytes(6, "little") + b"\0\0"
    names = b"\4dyno\0" + bytes([len(name)]) + name.encode() + b"\0"
    return event(TABLE_MAP, place + names + bytes([len(types)]) + types + b"\0" + b"\0")


def rows(number: int, *keys: tuple[int, int], kind: int = WRITE) -> bytes:
    head = number.to_bytes(6, "little") + b"\0\0" + (b"\2\0" if kind == WRITE else b"")
    values = b"".join(b"\0" + struct.pack("<iqi", client, number, 7) for client, number in keys)
    return event(kind, head + b"\3" + b"\7" + values)


COMMIT = event(XID, bytes(8))
JOURNAL = table(5, "journal", bytes([3, 8, 3]))


@pytest.mark.parametrize("kind", [WRITE_OLD, WRITE])
def test_rows_of_committed_transactions_are_found(kind: int) -> None:
    log = start() + statement("BEGIN") + JOURNAL + rows(5, (1, 2), (1, 3), kind=kind) + COMMIT
    log += statement("BEGIN") + JOURNAL + rows(5, (-2, 2**40), kind=kind) + COMMIT
    assert inserted(log, "journal") == {(1, 2), (1, 3), (-2, 2**40)}
    assert inserted(log, "other") == set()


def test_statements_are_understood_too() -> None:
    words = "INSERT INTO ledger_journal (client, seq, kind) VALUES (4, 17, 1)"
    log = start(summed=False) + event(GTID, bytes(19), summed=False) + statement(words, summed=False)
    log += event(XID, bytes(8), summed=False) + statement("BEGIN", summed=False)
    log += statement("insert into `ledger_journal` values(5,1,2)", summed=False) + statement("COMMIT", summed=False)
    assert inserted(log, "ledger_journal") == {(4, 17), (5, 1)}


def test_what_was_not_committed_does_not_count() -> None:
    log = start() + statement("BEGIN") + JOURNAL + rows(5, (1, 1)) + statement("ROLLBACK") + COMMIT
    log += statement("BEGIN") + JOURNAL + rows(5, (1, 2))
    assert inserted(log, "journal") == set()
    assert inserted(log + COMMIT, "journal") == {(1, 2)}


def test_it_ends_with_the_last_whole_event() -> None:
    sound = start() + statement("BEGIN") + JOURNAL + rows(5, (1, 1)) + COMMIT
    more = statement("BEGIN") + JOURNAL + rows(5, (1, 2)) + COMMIT
    assert inserted(sound + more, "journal") == {(1, 1), (1, 2)}
    # Cut off, never written (zeros), or changed: what its checksum is for.
    for tail in (more[:-3], bytes(len(more)), more[:-20] + b"\xff" + more[-19:]):
        assert inserted(sound + tail, "journal") == {(1, 1)}
    assert inserted(b"", "journal") == set()
    assert inserted(bytes(4096), "journal") == set()


def test_what_cannot_be_read_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("log")
    (folder / "bin.000001").write_bytes(start() + event(40, b"zstd"))
    answers = {"SELECT": [(1, str(folder / "bin"))], "SHOW": [("bin.000001",)]}
    monkeypatch.setattr(binlog, "execute", lambda _target, _secret, words: answers[words.split()[0]])
    target: object = None
    found = binlog.logged(target, target, "journal")  # type: ignore[arg-type]
    assert found is not None
    assert "compressed" in found.problem
    answers["SHOW"] = [("bin.000003",)]
    found = binlog.logged(target, target, "journal")  # type: ignore[arg-type]
    assert found is not None
    assert "begins with bin.000003" in found.problem
    answers["SELECT"] = [(0, None)]
    assert binlog.logged(target, target, "journal") is None  # type: ignore[arg-type]
