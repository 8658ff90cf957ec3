"""A short look at the machine before each trial, to know a bad moment from a bad configuration.

About a second: how long an fdatasync of 4 KiB takes on the data disk, how fast one core counts, how much time the
hypervisor stole, how much the machine stalled (PSI). The figures are kept with the trial. A moment that is far from
the study's own median is waited out a few times before it is accepted with a doubt. Reading and judging are apart.

Sources: "Duet Benchmarking" (2020) on neighbours, the kernel's documentation "PSI - Pressure Stall Information" (2018).
"""

from __future__ import annotations

import contextlib
import os
import statistics
from collections.abc import Sequence
from pathlib import Path

from dbdyno.hosts import cpu, pressure
from dbdyno.model.clock import Clock
from dbdyno.model.fact import Scalar

SPIN_S = 0.3
SYNC_S = 0.5
SYNCS_MAX = 200
_BLOCK = b"\x5a" * 4096

_SPIN_PART_MIN = 0.75
_SYNC_TIMES_MAX = 4.0
_SYNC_FLOOR_MS = 1.0
"""Below this an fdatasync is quick enough whatever the median was."""
_STEAL_PART_MAX = 0.1
_MEDIAN_OF_MIN = 3


def probe_machine(folder: Path | None, clock: Clock, root: Path = Path("/")) -> dict[str, Scalar]:
    """Measures for about a second. `folder` is on the data disk; None: the disk is not measured."""
    figures: dict[str, Scalar] = {}
    started, before = clock.monotonic(), _counters(root)
    figures["spin_per_us"] = _spin(clock)
    if folder is not None:
        figures |= _syncs(folder, clock)
    after, seconds = _counters(root), max(clock.monotonic() - started, 1e-9)
    moved = {name: after[name] - before[name] for name in before.keys() & after.keys()}
    if total := sum(amount for name, amount in moved.items() if name.startswith("cpu.")):
        figures["steal_part"] = round(moved.get("cpu.steal_s", 0.0) / total, 4)
    for name, amount in sorted(moved.items()):
        if name.startswith("pressure_"):
            figures[name + "_part"] = round(amount / 1e6 / seconds, 4)
    return figures


def _counters(root: Path) -> dict[str, float]:
    """Processor seconds by state (`cpu.steal_s`) and stalled microseconds by resource, as far as the kernel tells."""
    counters: dict[str, float] = {}
    with contextlib.suppress(OSError, ValueError):
        row = cpu.parse((root / "proc/stat").read_text())[0]
        counters |= {f"cpu.{name}": float(value) for name, value in row.items() if name.endswith("_s") and value}
    for resource in ("cpu", "io", "memory"):
        with contextlib.suppress(OSError, ValueError):
            totals = pressure.parse((root / "proc/pressure" / resource).read_text())
            counters[f"pressure_{resource}"] = float(totals["some"])
    return counters


def _spin(clock: Clock) -> float:
    """Additions in pure Python that one core makes in a microsecond."""
    started = clock.monotonic()
    rounds, now = 0, started
    while now - started < SPIN_S:
        total = 0
        for number in range(2000):
            total += number
        rounds += 1
        now = clock.monotonic()
    return round(rounds * 2000 / max(now - started, 1e-9) / 1e6, 3)


def _syncs(folder: Path, clock: Clock) -> dict[str, Scalar]:
    file = folder / ".dyno-probe"
    times: list[float] = []
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT, 0o600)
    except OSError as error:
        return {"sync_unknown": str(error)}
    try:
        started = clock.monotonic()
        while clock.monotonic() - started < SYNC_S and len(times) < SYNCS_MAX:
            at = clock.monotonic()
            os.pwrite(descriptor, _BLOCK, 0)
            os.fdatasync(descriptor)
            times.append(clock.monotonic() - at)
    except OSError as error:
        return {"sync_unknown": str(error)}
    finally:
        os.close(descriptor)
        file.unlink(missing_ok=True)
    times.sort()
    return {
        "sync_ms_median": round(times[len(times) // 2] * 1e3, 4),
        "sync_ms_p90": round(times[int(len(times) * 0.9)] * 1e3, 4),
        "syncs": len(times),
    }


def odd(figures: dict[str, Scalar], earlier: Sequence[dict[str, Scalar]]) -> str:
    """Why this moment is not like the study's others; empty when it is, or when there are too few to say."""
    steal = figures.get("steal_part")
    if isinstance(steal, int | float) and steal > _STEAL_PART_MAX:
        return f"the hypervisor took {steal:.0%} of the processor time"
    spin, spin_median = _number(figures, "spin_per_us"), _median(earlier, "spin_per_us")
    if spin is not None and spin_median is not None and spin < _SPIN_PART_MIN * spin_median:
        return f"a core counts at {spin / spin_median:.0%} of its usual speed"
    sync, sync_median = _number(figures, "sync_ms_median"), _median(earlier, "sync_ms_median")
    if sync is not None and sync_median is not None and sync > max(_SYNC_FLOOR_MS, _SYNC_TIMES_MAX * sync_median):
        return f"an fdatasync takes {sync:.2f} ms, usually {sync_median:.2f} ms"
    return ""


def _number(figures: dict[str, Scalar], name: str) -> float | None:
    value = figures.get(name)
    return float(value) if isinstance(value, int | float) else None


def _median(earlier: Sequence[dict[str, Scalar]], name: str) -> float | None:
    numbers = [number for figures in earlier if (number := _number(figures, name)) is not None]
    return statistics.median(numbers) if len(numbers) >= _MEDIAN_OF_MIN else None
