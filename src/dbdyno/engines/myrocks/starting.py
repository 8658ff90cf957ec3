"""What the family shares, and that this engine is there and has the memory."""

from __future__ import annotations

from dbdyno.engines._mysql import starting
from dbdyno.engines._mysql.starting import HEAD, Settings, version_of
from dbdyno.model.knob import Assignment
from dbdyno.model.machine import Machine

VERSION_DEFAULT = starting.VERSION_DEFAULT

__all__ = ["HEAD", "VERSION_DEFAULT", "settings", "version_of"]


def settings(machine: Machine, version: int, chosen: Assignment) -> Settings:
    """See the family's."""
    return starting.settings(machine, version, chosen)
