"""A server that speaks just enough of MongoDB's wire protocol (OP_MSG) to answer commands from a table.

Source: MongoDB manual, "MongoDB Wire Protocol" (2024).
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import bson

Answer = Mapping[str, Any] | Callable[[dict[str, Any]], Mapping[str, Any]]
_OP_QUERY, _OP_REPLY, _OP_MSG = 2004, 1, 2013
HELLO = {"ismaster": True, "helloOk": True, "isWritablePrimary": True, "maxBsonObjectSize": 16777216,
         "maxMessageSizeBytes": 48000000, "maxWriteBatchSize": 100000, "minWireVersion": 0, "maxWireVersion": 21,
         "readOnly": False, "connectionId": 1, "ok": 1.0}  # fmt: skip


@contextlib.contextmanager
def fake_server(answers: Mapping[str, Answer], hangs: threading.Event | None = None) -> Iterator[tuple[int, list[Any]]]:
    """Its port, and the commands that it was asked. What is not in the table does not exist; with `hangs` it answers
    nothing but greetings until the event is set."""
    asked: list[dict[str, Any]] = []
    listener = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=_accept, args=(listener, answers, hangs, asked), daemon=True).start()
    try:
        yield listener.getsockname()[1], asked
    finally:
        listener.close()


def _accept(listener: socket.socket, answers: Mapping[str, Answer], hangs: threading.Event | None,
            asked: list[dict[str, Any]]) -> None:  # fmt: skip
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        threading.Thread(target=_serve, args=(connection, answers, hangs, asked), daemon=True).start()


def _serve(connection: socket.socket, answers: Mapping[str, Answer], hangs: threading.Event | None,
           asked: list[dict[str, Any]]) -> None:  # fmt: skip
    with connection, contextlib.suppress(OSError, struct.error):
        while True:
            length, request, _, kind = struct.unpack("<iiii", _exactly(connection, 16))
            body = _exactly(connection, length - 16)
            if kind == _OP_MSG:
                command = dict(bson.decode(body[5:]))
                payload = struct.pack("<I", 0) + b"\0" + bson.encode(_answer(command, answers, hangs, asked))
                head = struct.pack("<iiii", 16 + len(payload), 1, request, _OP_MSG)
            else:
                payload = struct.pack("<iqii", 8, 0, 0, 1) + bson.encode(HELLO)
                head = struct.pack("<iiii", 16 + len(payload), 1, request, _OP_REPLY)
            connection.sendall(head + payload)


def _answer(command: dict[str, Any], answers: Mapping[str, Answer], hangs: threading.Event | None,
            asked: list[dict[str, Any]]) -> Mapping[str, Any]:  # fmt: skip
    name = next(iter(command))
    if name.lower() in ("hello", "ismaster"):
        return HELLO
    if hangs is not None:
        hangs.wait(30)
    asked.append(command)
    found = answers.get(name)
    if found is None:
        return {"ok": 0.0, "errmsg": f"no such command: '{name}'", "code": 59, "codeName": "CommandNotFound"}
    return found(command) if callable(found) else {"ok": 1.0, **found}


def _exactly(connection: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        more = connection.recv(count - len(data))
        if not more:
            raise OSError("closed")
        data += more
    return data
