"""The size of a machine as the formulas need it: what this server may use, not what the host has."""

from __future__ import annotations

import enum

from dbdyno.model.record import Record


class DiskClass(enum.StrEnum):
    HDD = "hdd"
    SSD = "ssd"
    CLOUD = "cloud"
    """A network volume with a limit on operations."""


class Machine(Record, frozen=True, kw_only=True):
    memory_bytes: int
    cores: int
    disk: DiskClass
    disk_bytes_free: int = 0
    iops: float | None = None
    """Limit or measurement of the device under the data, operations per second."""
    dataset_bytes: int | None = None
    connections: int = 100
    workload: str = "oltp"
    """Kind of load for formulas that ask: `oltp`, `web`, `dw`, `mixed`, `desktop`."""
