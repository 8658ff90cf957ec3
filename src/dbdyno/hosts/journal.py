"""Journals of ext4 file systems. Source: /proc/fs/jbd2/*/info (the kernel's fs/jbd2/journal.c and commit.c).

The kernel's time of a commit is a running mean, (last + 3 × mean before) / 4: what the last few commits took. Its means
of the phases of a commit go back to the mount, in whole milliseconds: over the thousands of commits of an old mount
they no longer move, so that they are left out.
"""

from __future__ import annotations

import re
from pathlib import Path

from dbdyno.hosts.registry import Rows, Watch
from dbdyno.model.probe import Column, ColumnKind, Probe

_TRANSACTIONS = re.compile(r"^(\d+) transactions")
_COMMIT = re.compile(r"^\s*(\d+)us average transaction commit time", re.MULTILINE)
PROBE = Probe(
    name="journal",
    title="Journals of file systems",
    cost="one file for each ext4 file system",
    columns=(
        Column(name="device", kind=ColumnKind.KEY, help="block device with the number of the journal"),
        Column(name="transactions", kind=ColumnKind.COUNTER, help="transactions of the journal"),
        Column(name="last_commits_ms", kind=ColumnKind.GAUGE, unit="ms", help="what one of the last commits took"),
    ),
)


def read(root: Path, _watch: Watch) -> Rows:
    rows: Rows = []
    for folder in sorted((root / "proc/fs/jbd2").iterdir()):
        rows.append({"device": folder.name, **parse((folder / "info").read_text())})
    return rows


def parse(text: str) -> dict[str, float | None]:
    """Values by column. Raises `ValueError` when it is not such a file."""
    found = _TRANSACTIONS.match(text)
    if found is None:
        raise ValueError("no count of transactions in a journal's info")
    commit = _COMMIT.search(text)
    return {"transactions": int(found[1]), "last_commits_ms": int(commit[1]) / 1e3 if commit else None}
