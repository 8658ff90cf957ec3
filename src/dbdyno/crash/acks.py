"""The acknowledgement log of the ledger: what was sent, what was acknowledged, and when by the disk's own count."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

from dbdyno.model.errors import RecordError

Key = tuple[int, int]
"""Client and number of a transaction."""

KINDS = ("insert", "transfer", "update", "delete")
"""In the order of their numbers in the journal, which begin with 1."""


@dataclass(frozen=True)
class Sent:
    """One transaction as its client sent it. What `a`, `b` and `amount` mean depends on the kind: rows and blocks of
    an insert; accounts of a transfer; row and blocks of an update; number of the insert that a delete removes."""

    client: int
    number: int
    kind: str
    a: int
    b: int
    amount: int
    sent_s: float = 0.0
    acked_flush: int | None = None
    """Last flush that the disk had completed when the acknowledgement had arrived; None: none arrived."""
    acked_s: float = 0.0
    """When it arrived (CLOCK_MONOTONIC)."""

    @property
    def key(self) -> Key:
        return self.client, self.number


History = dict[Key, Sent]


def read_history(path: Path) -> History:
    """Reads the log. A last line that was cut off is left out. Raises `RecordError` for any other line that is none."""
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise RecordError(f"The acknowledgement log {path} cannot be read.", found=str(error)) from None
    try:
        return parse_history([json.loads(line) for line in lines[:-1]])
    except (ValueError, KeyError) as error:
        raise RecordError(f"The acknowledgement log {path} is damaged.", found=str(error)) from None


def parse_history(events: list[dict[str, int | str]]) -> History:
    """Joins each acknowledgement with what was sent. Raises `KeyError` for one of a transaction that was not sent."""
    history: History = {}
    for event in events:
        key = int(event["c"]), int(event["n"])
        at_s = int(event["t_ns"]) / 1e9
        if event["e"] == "ack":
            history[key] = replace(history[key], acked_flush=int(event["flush"]), acked_s=at_s)
        else:
            history[key] = Sent(
                client=key[0],
                number=key[1],
                kind=str(event["k"]),
                a=int(event["a"]),
                b=int(event["b"]),
                amount=int(event["m"]),
                sent_s=at_s,
            )
    return history
