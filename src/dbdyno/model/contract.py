"""What must stay true whatever is tuned."""

from __future__ import annotations

from dbdyno.model.knob import Level
from dbdyno.model.record import Record


class Contract(Record, frozen=True, kw_only=True):
    level: Level = Level.L3
    pitr: bool = True
    """Point-in-time recovery stays possible (log archiving on)."""
    replication: bool = True
    """The log stays usable by a replica."""
    maintenance: bool = True
    """Autovacuum, purge and their like stay on."""
    recovery_s_max: float = 120.0
    """Longest recovery after a crash."""
    memory_bytes_max: int | None = None
    """Most memory that the server may plan for; None: four fifths of the machine's."""
    p99_ms_max: float | None = None
    """Longest 99th percentile of the response time at the fixed rate; None: not limited."""


class Breach(Record, frozen=True, kw_only=True):
    """One way in which a configuration breaks the contract."""

    setting: str
    value: str
    needs: str
    why: str = ""
