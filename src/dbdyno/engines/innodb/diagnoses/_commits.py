"""Clients that wait in their commit, by the words that servers have for it."""

from __future__ import annotations

from dbdyno.engines.innodb.diagnoses._server import within
from dbdyno.model.recording import Recording, Stall

_WORDS = ("commit", "prepare", "binlog", "flushing log")
"""`Commit`, `committing`, `waiting for handler commit`, `Waiting for prior transaction to commit`, `preparing`. From:
MariaDB manual, "General Thread States"; MySQL 8.0 manual, "General Thread (Command) States"."""
_MYSQL_8 = range(80_000, 100_000)
"""8.0.12 calls a client in its commit `starting`, as its status text in the tests shows."""


def commit_share(recording: Recording, stall: Stall | None) -> float:
    """Share of the busy clients that are in their commit, 0 to 1."""
    busy = within(recording.series("waits", "count"), stall).mean()
    inside = 0.0
    version = recording.facts.find("server.version")
    starting = version is not None and version.value in _MYSQL_8
    for key in recording.keys("waits"):
        word = key.lower()
        if any(one in word for one in _WORDS) or (starting and word == "starting"):
            inside += within(recording.series("waits", "count", key), stall).mean()
    return inside / busy if busy > 0 else 0.0
