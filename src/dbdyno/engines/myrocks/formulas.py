"""A whole configuration from the engine's own guide, scaled to the machine.

Source: “RocksDB Tuning Guide” (RocksDB wiki, 2023) and “Optimizing MyRocks Performance” (MariaDB manual, 2024). What
would break the contract (`rocksdb_flush_log_at_trx_commit = 2`, a log that is switched off) is left out.
"""

from __future__ import annotations

from dbdyno.engines.myrocks.families import TEXT
from dbdyno.model.knob import Advice, Value
from dbdyno.model.machine import Machine

_MIB = 1 << 20
_SOURCE = "RocksDB Tuning Guide (RocksDB wiki, 2023); Optimizing MyRocks Performance (MariaDB manual, 2024)"


def advice(machine: Machine, version: int) -> list[Advice]:
    """The configurations that a study measures before it searches. They are the same for all versions."""
    return [formula(machine)]


def formula(machine: Machine) -> Advice:
    """The guides' configuration for this machine, each setting with its reason."""
    memtable = _round(min(128 * _MIB, max(64 * _MIB, machine.memory_bytes / 128)))
    chosen: dict[str, tuple[Value, str]] = {
        "rocksdb_block_cache_size": (
            _round(machine.memory_bytes * 0.35),
            "a third of memory for uncompressed blocks; the kernel's cache holds the compressed files",
        ),
        f"{TEXT}.write_buffer_size": (memtable, "larger memtables, fewer compactions"),
        f"{TEXT}.max_write_buffer_number": (4, "writes go on while others are flushed"),
        f"{TEXT}.max_bytes_for_level_base": (4 * memtable, "level 1 as large as level 0: four files of one memtable"),
        f"{TEXT}.target_file_size_base": (64 * _MIB, "a fraction of level 1"),
        f"{TEXT}.compression": ("kLZ4Compression", "the guide's choice for most loads"),
        f"{TEXT}.level_compaction_dynamic_level_bytes": ("true", "bounds the space that old versions take"),
        "rocksdb_max_background_jobs": (max(2, machine.cores), "as many as processors"),
        "rocksdb_max_total_wal_size": (
            max(256 * _MIB, 8 * memtable),
            "a family that is seldom written does not hold the whole log",
        ),
        "rocksdb_bytes_per_sync": (_MIB, "files are written as they grow, not all at their end"),
        "rocksdb_wal_bytes_per_sync": (_MIB, "the same for the log; commits force it all the same"),
    }
    return Advice(
        name="formula",
        title="RocksDB Tuning Guide",
        assignment={name: value for name, (value, _why) in chosen.items()},
        reasons={name: why for name, (_value, why) in chosen.items()},
        source=_SOURCE,
    )


def _round(size: float) -> int:
    return max(1, int(size // (32 * _MIB))) * 32 * _MIB
