"""What a server needs of the limits on its process; the rules on now and on the next start ask the same."""

from __future__ import annotations

import math

from dbdyno.model.facts import Facts

FILES_LEAST, FILES_TARGET, ENDLESS = 16384, 64000, 1 << 30
THREADS_LEAST, THREADS_TARGET = 8192, 64000


def files_needed(facts: Facts) -> float:
    """By the server's settings where they are known."""
    return facts.number("server.files_needed") if facts.has("server.files_needed") else FILES_LEAST


def files_target(facts: Facts) -> int:
    """The need with half of it again, and twice as many as long as most of them are open."""
    target = max(FILES_TARGET, math.ceil(files_needed(facts) * 1.5))
    while facts.has("host.server.open_files") and facts.number("host.server.open_files") >= 0.8 * target:
        target *= 2
    return target


def threads_needed(facts: Facts) -> float:
    """Twice the connections, a thread or a process for each and as many beside."""
    connections = facts.number("server.connections_max") if facts.has("server.connections_max") else 0.0
    return max(THREADS_LEAST, 2 * connections)


def threads_target(facts: Facts) -> int:
    return max(THREADS_TARGET, int(2 * threads_needed(facts)))
