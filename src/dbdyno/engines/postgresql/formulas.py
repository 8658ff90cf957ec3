"""Whole configurations from published formulas, and how a configuration is written down.

`formula` follows "Tuning PostgreSQL for sysbench-tpcc" (Percona, 2018), scaled from its 256-GB server to the machine
at hand and kept within the recovery time of the default contract. `pgtune` is the formula of PGTune (Oleksii Vasyliev;
source of July 2026, src/features/configuration), written anew from its published rules: transactions ("oltp") or web,
Linux, solid-state disk. It is a baseline that others use, not our opinion.

Numbers are in the server's base units, as in `knobs.toml`.
"""

from __future__ import annotations

import functools
import math
import tomllib
from pathlib import Path

from dbdyno.model.knob import Advice, Assignment, Value
from dbdyno.model.machine import DiskClass, Machine

KNOBS = Path(__file__).parent / "knobs.toml"
_KIB = 1024
_MIB = 1024**2
_GIB = 1024**3
_PAGE = 8192
_RECOVERY_S = 120.0
"""The default contract's recovery time, which the stretched checkpoints of the formula must stay within."""


def advice(machine: Machine, version: int) -> list[Advice]:
    """The configurations that a study measures before it searches."""
    return [formula(machine, version), pgtune(machine, version)]


def formula(machine: Machine, version: int) -> Advice:
    """The article's configuration for this machine, each setting with its reason."""
    ram = machine.memory_bytes
    fits = machine.dataset_bytes is not None and machine.dataset_bytes * 1.2 < ram * 0.6
    if fits and machine.dataset_bytes is not None:
        # The article's three quarters of 256 GB leave 64 GB for the rest; a small machine needs relatively more.
        cache = min(ram * 0.6, max(machine.dataset_bytes * 1.5, ram * 0.25))
        why_cache = "the hot set fits in memory: the cache holds it all, with room to grow, and leaves 40 % of memory"
    else:
        cache = ram * 0.25
        why_cache = "the hot set is unknown or larger than memory: a quarter, the rest is the kernel's cache"
    solid = machine.disk is not DiskClass.HDD
    replay = min(100 * _MIB, machine.iops * 3 * _PAGE) if machine.iops else 100 * _MIB
    wal = max(1024, min(0.5 * _RECOVERY_S * replay, 100 * _GIB, (machine.disk_bytes_free or 64 * _GIB) * 0.2) // _MIB)
    chosen: dict[str, tuple[Value, str]] = {
        "shared_buffers": (_round_pages(cache), why_cache),
        "effective_cache_size": (
            int(ram * 0.75 // (64 * _MIB)) * 64 * _MIB // _PAGE,
            "what server and kernel cache together; takes no memory",
        ),
        "wal_compression": (
            "lz4" if version >= 150000 else "on",
            "41.6 % less log and 21 % more transactions in the article; lz4 costs the least processor time",
        ),
        "max_wal_size": (int(wal), "fewer checkpoints, as far as half of 120 s of recovery is estimated to allow"),
        "min_wal_size": (int(min(1024, wal)), "the article's 1 GB of log files for reuse"),
        "checkpoint_timeout": (1200, "the article's 1 h costs minutes of recovery; a third of it stays within 120 s"),
        "checkpoint_completion_target": (0.9, "spreads the writes over nine tenths of the interval"),
        "random_page_cost": (
            1.1 if solid else 4.0,
            "a random page costs about what the next one costs" if solid else "a rotating disk: the default",
        ),
        "bgwriter_lru_maxpages": (1000, "the article's value for write-heavy load"),
        "bgwriter_lru_multiplier": (10.0, "the article's value for write-heavy load"),
        "maintenance_work_mem": (
            int(min(2 * _GIB, max(64 * _MIB, ram / 64)) // _MIB) * _KIB,
            "the article's 2 GB of 256 GB is a 128th; a small machine needs relatively more for its vacuum",
        ),
    }
    return Advice(
        name="formula",
        title="Tuning PostgreSQL for sysbench-tpcc",
        assignment={name: value for name, (value, _why) in chosen.items()},
        reasons={name: why for name, (_value, why) in chosen.items()},
        source="Tuning PostgreSQL for sysbench-tpcc (Percona, 2018)",
    )


def _round_pages(size_bytes: float) -> int:
    """Pages of the next lower multiple of 64 MiB: a person reads 5888MB more easily than 6029312kB."""
    return max(1, int(size_bytes // (64 * _MIB))) * 64 * _MIB // _PAGE


def pgtune(machine: Machine, version: int) -> Advice:
    """PGTune's formula for Linux; the kind of database is `web` or `oltp` as the machine's workload says."""
    ram_kb = machine.memory_bytes // _KIB
    major = version // 10000
    web = machine.workload == "web"
    hdd = machine.disk is DiskClass.HDD
    fits = machine.dataset_bytes is not None and machine.dataset_bytes < machine.memory_bytes
    buffers_kb = ram_kb // 4
    maintenance_kb = min(ram_kb // 16, 8 * _GIB // _KIB)
    a: Assignment = {
        "max_connections": machine.connections,
        "shared_buffers": buffers_kb // 8,
        "effective_cache_size": ram_kb * 3 // 4 // 8,
        "maintenance_work_mem": maintenance_kb,
        "checkpoint_completion_target": 0.9,
        "wal_buffers": _pgtune_wal_buffers_kb(buffers_kb) // 8,
        "default_statistics_target": 100,
        "random_page_cost": 4.0 if hdd and not fits else 1.1,
        "effective_io_concurrency": 2 if hdd else 300 if machine.disk is DiskClass.CLOUD else 200,
        "work_mem": _pgtune_work_mem_kb(machine, ram_kb, buffers_kb),
        "huge_pages": "try" if buffers_kb >= 2 * _GIB // _KIB else "off",
        "min_wal_size": 1024 if web else 2048,
        "max_wal_size": 4096 if web else 8192,
        "jit": "off",
        "wal_compression": "lz4" if major >= 15 else "on",
    }
    if maintenance_kb >= 2 * _GIB // _KIB:
        a["autovacuum_work_mem"] = 2 * _GIB // _KIB
    if machine.cores >= 16:
        a["autovacuum_max_workers"] = 5 if machine.cores >= 32 else 4
    if machine.cores >= 4:
        half = min(4, math.ceil(machine.cores / 2))
        a["max_worker_processes"] = machine.cores
        a["max_parallel_workers"] = machine.cores
        a["max_parallel_workers_per_gather"] = half
        a["max_parallel_maintenance_workers"] = half
    if major >= 18:
        a["io_method"] = "io_uring"
    rule = "PGTune's rule for " + ("the web" if web else "transactions")
    return Advice(
        name="pgtune",
        title="PGTune",
        assignment=a,
        reasons=dict.fromkeys(a, rule),
        source="PGTune source, src/features/configuration (July 2026)",
    )


def _pgtune_wal_buffers_kb(buffers_kb: int) -> int:
    wanted = min(3 * buffers_kb // 100, 16 * _KIB)
    return max(32, 16 * _KIB if wanted > 14 * _KIB else wanted)


def _pgtune_work_mem_kb(machine: Machine, ram_kb: int, buffers_kb: int) -> int:
    workers = machine.cores if machine.cores >= 4 else 8
    share = math.floor((ram_kb - buffers_kb) / ((machine.connections + workers) * 3))
    if machine.dataset_bytes is not None:
        if machine.dataset_bytes < machine.memory_bytes:
            share = math.floor(share * 1.3)
        elif machine.dataset_bytes > 4 * machine.memory_bytes:
            share = math.floor(share * 0.9)
    return max(4 * _KIB, share)


def render(assignment: Assignment) -> tuple[str, list[str]]:
    """The configuration as lines of postgresql.conf, and as ALTER SYSTEM statements, in the assignment's order."""
    lines = [f"{name} = {_written(name, value)}" for name, value in assignment.items()]
    statements = [f"ALTER SYSTEM SET {name} = {_written(name, value)};" for name, value in assignment.items()]
    return "".join(line + "\n" for line in lines), statements


def _written(name: str, value: Value) -> str:
    """The value as the server takes it: words and numbers with a unit in quotes, plain numbers bare."""
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    unit = units().get(name, "")
    if value <= 0 or not unit:
        return f"{value:g}" if isinstance(value, float) else str(value)
    return f"'{with_unit(value, unit)}'"


_STEPS: dict[str, tuple[tuple[str, ...], tuple[int, ...]]] = {
    "memory": (("kB", "MB", "GB", "TB"), (1024, 1024, 1024)),
    "time": (("us", "ms", "s", "min", "h"), (1000, 1000, 60, 60)),
}
_SMALLEST = {
    "8kB": ("memory", 8.0),
    "kB": ("memory", 1.0),
    "MB": ("memory", 1024.0),
    "us": ("time", 1.0),
    "ms": ("time", 1e3),
    "s": ("time", 1e6),
    "min": ("time", 6e7),
}


def with_unit(value: int | float, unit: str) -> str:
    """The number in the largest unit in which it is whole: 786432 pages of 8 kB are 6 GB."""
    family, factor = _SMALLEST[unit]
    number: float = value * factor
    units_up, steps = _STEPS[family]
    at = 0
    if number != int(number):
        return f"{value:g}{unit}"
    while at < len(steps) and number % steps[at] == 0:
        number /= steps[at]
        at += 1
    return f"{int(number)}{units_up[at]}"


@functools.cache
def units() -> dict[str, str]:
    """Base unit by setting, from the knob file."""
    with KNOBS.open("rb") as file:
        rows = tomllib.load(file)["knob"]
    return {row["name"]: row.get("unit", "") for row in rows}
