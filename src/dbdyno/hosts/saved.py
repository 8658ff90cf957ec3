"""Saved texts of `vmstat -t` and `iostat -xt`, as recordings.

Sources: vmstat(8) of procps and iostat(1) of sysstat. Every block needs a time stamp: without one nobody knows what
happened when. The first block of both is a mean since the machine's start and is left out. Columns are found by their
heads, so that versions with more or fewer of them, or lines with the stamp in front, are read as well.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from datetime import datetime

from dbdyno.model.errors import UsageError
from dbdyno.model.recording import MemoryRecording

_VMSTAT_HEADS = {"swpd", "free", "cache", "si", "so", "bi", "bo"}
_IOSTAT_HEADS = {"r/s", "w/s", "%util"}
_CLOCK = re.compile(r"\b(\d{1,2}):(\d{2}):(\d{2})(?:[.,]\d+)?\s*([AP]M)?", re.IGNORECASE)
_DATE = re.compile(r"\b(\d{4})-(\d{2})-(\d{2})\b|\b(\d{1,2})/(\d{1,2})/(\d{2,4})\b")
_DAY_S = 86_400.0
_ROWS_MAX = 1_000_000
_KIB = 1024.0
_STATES = {"us": "user", "sy": "system", "id": "idle", "wa": "iowait", "st": "steal"}

Rows = list[tuple[float, dict[str, float]]]


def recognises(text: str) -> bool:
    """Whether it is one of the two."""
    return any(_heads(line) for line in text.splitlines()[:200])


def recording(texts: Sequence[str]) -> MemoryRecording:
    """All texts over one axis of time. Raises `UsageError` when one has no time stamps or no line of figures."""
    vmstat: Rows = []
    iostat: dict[str, Rows] = {}
    for text in texts:
        if _kind(text) == "vmstat":
            vmstat += list(_vmstat_rows(text))[1:]
        else:
            for device, rows in _iostat_rows(text).items():
                iostat.setdefault(device, []).extend(rows[1:])
    starts = [rows[0][0] for rows in (vmstat, *iostat.values()) if rows]
    ends = [rows[-1][0] for rows in (vmstat, *iostat.values()) if rows]
    if not starts:
        raise UsageError("The saved text holds fewer than two blocks of figures.", todo="save some minutes of it")
    found = MemoryRecording(duration_s=max(ends) - min(starts))
    _add_vmstat(found, vmstat, min(starts))
    for device, rows in iostat.items():
        _add_iostat(found, device, rows, min(starts))
    return found


def _kind(text: str) -> str:
    for line in text.splitlines():
        if heads := _heads(line):
            return "vmstat" if _VMSTAT_HEADS & set(heads) else "iostat"
    raise UsageError("This is neither vmstat nor iostat -x.", found=repr(text[:60]))


def _heads(line: str) -> list[str]:
    words = line.split()
    return words if set(words) >= _VMSTAT_HEADS or set(words) >= _IOSTAT_HEADS else []


def _vmstat_rows(text: str) -> Iterator[tuple[float, dict[str, float]]]:
    """Times and figures by head; lines that are cut are passed over."""
    heads: list[str] = []
    clock = _Clock()
    stamped = False
    for line in text.splitlines()[:_ROWS_MAX]:
        if found := _heads(line):
            heads = [word for word in found if word.islower() and word.isalpha()]
            continue
        numbers = _numbers(_DATE.sub(" ", _CLOCK.sub(" ", line)))
        if not heads or len(numbers) != len(heads):
            continue
        t_s = clock.read(line)
        stamped = stamped or t_s is not None
        if t_s is not None:
            yield t_s, dict(zip(heads, numbers, strict=True))
    if heads and not stamped:
        raise UsageError("The saved vmstat has no time stamps.", todo="save it with `vmstat -t 1`")


def _iostat_rows(text: str) -> dict[str, Rows]:
    heads: list[str] = []
    clock = _Clock()
    t_s: float | None = None
    found: dict[str, Rows] = {}
    for line in text.splitlines()[:_ROWS_MAX]:
        if words := _heads(line):
            heads = words[1:]
            continue
        parts = line.split()
        numbers = _numbers(" ".join(parts[1:]))
        if heads and parts and len(numbers) == len(heads) == len(parts) - 1:
            if t_s is not None:
                found.setdefault(parts[0], []).append((t_s, dict(zip(heads, numbers, strict=True))))
        elif (read := clock.read(line)) is not None:
            t_s = read
    if heads and t_s is None:
        raise UsageError("The saved iostat has no time stamps.", todo="save it with `iostat -xt 1`")
    return found


def _numbers(text: str) -> list[float]:
    found = []
    for word in text.replace(",", ".").split():
        try:
            found.append(float(word))
        except ValueError:
            continue
    return [one for one in found if math.isfinite(one)]


class _Clock:
    """Reads time stamps of lines in order; a time of day that falls by more than half a day is the next day."""

    def __init__(self) -> None:
        self._day = 0.0
        self._last_s: float | None = None

    def read(self, line: str) -> float | None:
        clock, date = _CLOCK.search(line), _DATE.search(line)
        if clock is None:
            return None
        hours = int(clock[1]) % 12 + (12 if (clock[4] or "").upper() == "PM" else 0) if clock[4] else int(clock[1])
        of_day_s = hours * 3600.0 + int(clock[2]) * 60.0 + int(clock[3])
        if date is not None:
            day = _day(date)
            return None if day is None else day * _DAY_S + of_day_s
        if self._last_s is not None and of_day_s < self._last_s - _DAY_S / 2:
            self._day += _DAY_S
        self._last_s = of_day_s
        return self._day + of_day_s


def _day(date: re.Match[str]) -> int | None:
    try:
        if date[1]:
            return datetime(int(date[1]), int(date[2]), int(date[3])).toordinal()
        year = int(date[6])
        return datetime(year + 2000 if year < 100 else year, int(date[4]), int(date[5])).toordinal()
    except ValueError:
        return None


def _add_vmstat(found: MemoryRecording, rows: Rows, start_s: float) -> None:
    rows.sort(key=lambda one: one[0])
    t_s = [row[0] - start_s for row in rows]

    def column(name: str, head: str, factor: float, *, unit: str = "", role: str = "") -> None:
        if rows and all(head in row for _, row in rows):
            found.add(name, t_s, [row[head] * factor for _, row in rows], unit=unit, role=role)

    column("memory.free_bytes", "free", _KIB, unit="B")
    column("memory.cached_bytes", "cache", _KIB, unit="B")
    column("memory.swapped_bytes", "swpd", _KIB, unit="B")
    column("vmstat.swap_in_bytes", "si", _KIB, unit="B/s")
    column("vmstat.swap_out_bytes", "so", _KIB, unit="B/s", role="swap_out_bytes")
    column("vmstat.paged_in_bytes", "bi", _KIB, unit="B/s")
    column("vmstat.paged_out_bytes", "bo", _KIB, unit="B/s")
    column("cpu.running", "r", 1.0)
    column("cpu.blocked", "b", 1.0)
    for head, state in _STATES.items():
        column(f"cpu.{state}_s", head, 0.01, unit="s/s", role=f"cpu_{state}_s")
    if rows:
        for state in ("nice", "irq", "softirq"):
            found.add(f"cpu.{state}_s", t_s, [0.0] * len(rows), unit="s/s", role=f"cpu_{state}_s")


def _add_iostat(found: MemoryRecording, device: str, rows: Rows, start_s: float) -> None:
    rows.sort(key=lambda one: one[0])
    t_s = [row[0] - start_s for row in rows]

    def column(name: str, values: list[float | None], unit: str = "", role: str = "") -> None:
        if values and all(value is not None for value in values):
            found.add(f"disk.{name}/{device}", t_s, [value or 0.0 for value in values], unit=unit, role=role)

    def of(*heads: tuple[str, float]) -> list[float | None]:
        """The first of the heads that this version has, times its factor."""
        return [next((row[head] * factor for head, factor in heads if head in row), None) for _, row in rows]

    column("reads", of(("r/s", 1)), role="disk_reads")
    column("writes", of(("w/s", 1)), role="disk_writes")
    column("read_bytes", of(("rkB/s", _KIB), ("rMB/s", _KIB**2), ("rsec/s", 512)), "B/s")
    column("write_bytes", of(("wkB/s", _KIB), ("wMB/s", _KIB**2), ("wsec/s", 512)), "B/s", "disk_write_bytes")
    column("busy_ms", of(("%util", 10)), "ms/s", "disk_busy_ms")
    column("queue_ms", of(("aqu-sz", 1e3), ("avgqu-sz", 1e3)), "ms/s")
