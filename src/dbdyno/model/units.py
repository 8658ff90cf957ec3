"""Numbers for people in sentences."""

from __future__ import annotations


def bytes_text(value: float) -> str:
    """Bytes with a binary prefix and three digits: `1.5 GiB`."""
    for unit, size in (("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if abs(value) >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.0f} B"


def seconds_text(value: float) -> str:
    """A duration: `12 s`, `3.5 min`, `2.1 h`, `4.0 days`."""
    for unit, size in (("days", 172_800.0), ("h", 7200.0), ("min", 120.0)):
        if value >= size:
            return f"{value / {'days': 86_400.0, 'h': 3600.0, 'min': 60.0}[unit]:.1f} {unit}"
    return f"{value:.0f} s" if value >= 10 else f"{value:.1f} s"
