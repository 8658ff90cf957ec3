"""Clients that wait in their commit, by the words that servers have for it."""

from __future__ import annotations

from dbdyno.engines.innodb.diagnoses._server import number, setting, within
from dbdyno.model.finding import Fix
from dbdyno.model.recording import Recording, Stall

_WORDS = ("commit", "prepare", "binlog", "flushing log")
"""`Commit`, `committing`, `waiting for handler commit`, `Waiting for prior transaction to commit`, `preparing`. From:
MariaDB manual, "General Thread States"; MySQL 8.0 manual, "General Thread (Command) States"."""
_WAIT_USEC_MAX = 10_000
"""No advice makes a commit wait longer for its group."""
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


def larger_groups(recording: Recording, inside: float) -> tuple[Fix, ...]:
    """A wait for half of the clients that are in their commit at a time (`inside`), but not for long; where the server
    waits already, twice as long. From: MariaDB manual, "Group Commit for the Binary Log" (2023); MySQL 8.0 manual,
    "Binary Logging Options" (2018)."""
    facts, half = recording.facts, max(2, round(inside / 2))
    if facts.has("setting.binlog_commit_wait_count"):
        waits = number(facts, "binlog_commit_wait_count", 0) > 0
        usec = min(_WAIT_USEC_MAX, 2 * round(number(facts, "binlog_commit_wait_usec", 1000))) if waits else 1000
        return setting(facts, "binlog_commit_wait_count", half), setting(facts, "binlog_commit_wait_usec", usec)
    delay_us = round(number(facts, "binlog_group_commit_sync_delay", 0))
    return (
        setting(facts, "binlog_group_commit_sync_delay", min(_WAIT_USEC_MAX, 2 * delay_us) if delay_us else 500),
        setting(facts, "binlog_group_commit_sync_no_delay_count", half),
    )
