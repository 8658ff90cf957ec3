"""One observation, or the reason why it could not be made."""

from __future__ import annotations

from dbdyno.model.record import Record

Scalar = str | int | float | bool | None


class Fact(Record, frozen=True, kw_only=True):
    """`name` is dotted, most general first, units last: `host.memory_bytes`, `server.version`."""

    name: str
    value: Scalar = None
    unit: str = ""
    source: str = ""
    """Where it was read: a file, a view, a command."""
    unknown: str = ""
    """Why it could not be made; then `value` means nothing. A missing privilege never reads as healthy."""
