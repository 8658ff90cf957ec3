"""A whole configuration from published articles, scaled to the machine.

Where the articles contradict each other, the later one or the one that fits the server's version is followed:

- cache 70 % of memory, not 80 % (“Is 80% of RAM how you should tune your innodb_buffer_pool_size?”, undated, before
  MySQL 5.7: what is left must hold connections and the system; “InnoDB Performance Optimization Basics”, 2023);
- `innodb_io_capacity` as low as practical (2023), not just under what the device does (“How To Tune MariaDB Write
  Performance”, 2012, for the flushing of version 5.5). A known limit of the volume bounds `innodb_io_capacity_max`:
  while flushing follows the age of the log its pace is that times a function of the age, and `innodb_io_capacity`
  cancels out (`af_get_pct_for_lsn` in buf0flu.cc of MySQL 5.6 and later);
- threads for reads and writes left alone while asynchronous I/O is native (“The relationship between Innodb Log
  checkpointing and dirty Buffer pool pages”, undated, MySQL 5.5).

What would break the contract (`innodb_flush_log_at_trx_commit = 2`, doublewrite off, no binary log) is left out.
"""

from __future__ import annotations

from dbdyno.engines._mysql import versions
from dbdyno.model.knob import Advice, Value
from dbdyno.model.machine import DiskClass, Machine

_MIB = 1 << 20
_GIB = 1 << 30
_BESIDE = 320 * _MIB
"""What the server's other caches and buffers take on a small machine."""
_RECOVERY_S = 120.0
"""The default contract's recovery time, half of which the log may cost."""
_BASICS = "InnoDB Performance Optimization Basics (Percona, 2023)"
_VERSION_CAPACITY = 80030
"""`innodb_redo_log_capacity` replaces size and number of files. Source: the article of 2023."""

Chosen = dict[str, tuple[Value, str]]


def advice(machine: Machine, version: int) -> list[Advice]:
    """The configurations that a study measures before it searches."""
    return [formula(machine, version)]


def formula(machine: Machine, version: int) -> Advice:
    """The articles' configuration for this machine, each setting with its reason."""
    cache, why_cache = _cache(machine)
    solid = machine.disk is not DiskClass.HDD
    chosen: Chosen = {
        "innodb_buffer_pool_size": (cache, why_cache),
        **_log(machine, version),
        "innodb_log_buffer_size": (
            _round(min(128 * _MIB, max(16 * _MIB, machine.memory_bytes / 256)), 8 * _MIB),
            "the 128 MB of the heavy-update article, less on a small machine",
        ),
        "innodb_flush_method": ("O_DIRECT", "pages are not cached twice; both files are still forced to the disk"),
        "innodb_flush_neighbors": (
            "0" if solid else "1",
            "a page beside a dirty one costs a write of its own" if solid else "neighbours come with the same turn",
        ),
        "innodb_io_capacity": (200, "as low as practical: writes that wait are written once for many changes"),
        "innodb_io_capacity_max": (_capacity_max(machine), "enough to catch up, and not all that the device can do"),
        "innodb_adaptive_flushing": ("ON", "flushing follows the growth of the log"),
        "innodb_purge_threads": (4, "the heavy-update article's four, against a history list that grows"),
    }
    if not versions.is_mariadb(version):
        parts = 8 if cache >= 8 * _GIB else max(1, cache // _GIB)
        chosen["innodb_buffer_pool_instances"] = (parts, "start at 8; parts of less than 1 GiB gain nothing")
        chosen["innodb_thread_concurrency"] = (0, "the engine decides, unless contention is seen")
    return Advice(
        name="formula",
        title="InnoDB Performance Optimization Basics",
        assignment={name: value for name, (value, _why) in chosen.items()},
        reasons={name: why for name, (_value, why) in chosen.items()},
        source=f"{_BASICS}; How To Tune MariaDB Write Performance (Percona, 2012); Tuning for heavy writing workloads "
        "(Percona, undated, MySQL 5.1)",
    )


def _cache(machine: Machine) -> tuple[int, str]:
    most = min(machine.memory_bytes * 0.7, max(machine.memory_bytes * 0.8 - _BESIDE, 128 * _MIB))
    wanted = most
    why = "70 % of memory; the rest is for connections, the binary log and the system. Grow it by observation"
    if machine.dataset_bytes is not None and machine.dataset_bytes * 1.5 < most:
        wanted = max(machine.dataset_bytes * 1.5, machine.memory_bytes * 0.25)
        why = "the dataset fits in memory: the cache holds it all, with room to grow"
    return _round(min(wanted, most), 128 * _MIB), why


def _log(machine: Machine, version: int) -> Chosen:
    """Half of the recovery time at the assumed speed of recovery (see knobs.toml), at most the article's 4 GB."""
    speed = min(50 * _MIB, machine.iops * 2048) if machine.iops else 50 * _MIB
    room = (machine.disk_bytes_free or 64 * _GIB) * 0.1
    whole = max(192 * _MIB, min(4 * _GIB, 0.5 * _RECOVERY_S * speed, room))
    why = "a full log forces no flush, as far as half of 120 s of recovery is estimated to allow"
    if not versions.is_mariadb(version) and version >= _VERSION_CAPACITY:
        return {"innodb_redo_log_capacity": (_round(whole, 64 * _MIB), why)}
    if versions.is_mariadb(version):
        return {"innodb_log_file_size": (_round(whole, 64 * _MIB), why)}
    return {"innodb_log_file_size": (_round(whole / 2, 32 * _MIB), why + "; there are two files")}


def _capacity_max(machine: Machine) -> int:
    """The default of 2000, or three quarters of what a limited device gives."""
    limit = machine.iops * 0.75 if machine.iops else 2000.0
    return max(400, int(min(2000.0, limit) // 100) * 100)


def _round(size: float, step: int) -> int:
    """A person reads 5760M more easily than 6039797760."""
    return max(1, int(size // step)) * step
