"""The block device under the server's data, as diagnoses ask for it."""

from __future__ import annotations

from dbdyno.model.facts import MissingFact
from dbdyno.model.recording import Recording, Series, Stall


def data_device(recording: Recording) -> str:
    """The device under the data; when that is not known, the one that was busiest. Raises `MissingSeries`."""
    known = recording.facts.find("host.disk_device")
    devices = recording.keys("disk")
    if known is not None and not known.unknown and str(known.value) in devices:
        return str(known.value)
    if not devices:
        raise MissingFact("disk", "no block device was recorded")
    return max(devices, key=lambda device: recording.series("disk", "busy_ms", device).mean())


def busy(recording: Recording, device: str) -> Series:
    """Share of the time with something under way, 0 to 1."""
    series = recording.series("disk", "busy_ms", device)
    return Series(series.name, series.t_s, series.values / 1e3, "", series.seconds)


def operations(recording: Recording, device: str) -> Series:
    """Reads and writes per second."""
    reads, writes = recording.series("disk", "reads", device), recording.series("disk", "writes", device)
    return Series(writes.name, writes.t_s, reads.values + writes.values, "1/s", writes.seconds)


def inside(series: Series, stall: Stall | None) -> Series:
    return series if stall is None else series.during(stall)
