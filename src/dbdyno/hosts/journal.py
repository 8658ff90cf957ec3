"""Journals of ext4 file systems. Source: /proc/fs/jbd2/*/info (the kernel's fs/jbd2/journal.c).

The kernel gives means since the mount; times the number of transactions they are sums, whose differences tell what the
last seconds took.
"""

from __future__ import annotations

import re
from pathlib import Path

from dbdyno.hosts.registry import Rows, Watch
from dbdyno.model.probe import Column, ColumnKind, Probe

_TRANSACTIONS = re.compile(r"^(\d+) transactions")
_COMMIT = re.compile(r"^\s*(\d+)us average transaction commit time", re.MULTILINE)
_PARTS = {
    "waited_ms": "waiting for transaction",
    "locked_ms": "transaction was being locked",
    "flushed_ms": "flushing data (in ordered mode)",
    "logged_ms": "logging transaction",
}

PROBE = Probe(
    name="journal",
    title="Journals of file systems",
    cost="one file for each ext4 file system",
    columns=(
        Column(name="device", kind=ColumnKind.KEY, help="block device with the number of the journal"),
        Column(name="transactions", kind=ColumnKind.COUNTER, help="transactions of the journal"),
        Column(name="commit_ms", kind=ColumnKind.COUNTER, unit="ms", help="time of commits, to the mean's precision"),
        *(
            Column(name=name, kind=ColumnKind.COUNTER, unit="ms", help=f"time in: {text}")
            for name, text in _PARTS.items()
        ),
    ),
)


def read(root: Path, _watch: Watch) -> Rows:
    rows: Rows = []
    for folder in sorted((root / "proc/fs/jbd2").iterdir()):
        rows.append({"device": folder.name, **parse((folder / "info").read_text())})
    return rows


def parse(text: str) -> dict[str, float | None]:
    """Sums by column. Raises `ValueError` when it is not such a file."""
    found = _TRANSACTIONS.match(text)
    if found is None:
        raise ValueError("no count of transactions in a journal's info")
    count = int(found[1])
    commit = _COMMIT.search(text)
    sums: dict[str, float | None] = {
        "transactions": count,
        "commit_ms": count * int(commit[1]) / 1e3 if commit else None,
    }
    for name, words in _PARTS.items():
        part = re.search(rf"^\s*(\d+)ms {re.escape(words)}", text, re.MULTILINE)
        sums[name] = float(count * int(part[1])) if part else None
    return sums
