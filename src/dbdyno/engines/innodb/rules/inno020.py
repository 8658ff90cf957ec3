"""INNO020: The redo log is too small for what is written

What it checks: the redo log (innodb_redo_log_capacity, or size times number of files) holds what is written in 30
minutes, as far as the recovery time of the contract allows (at an assumed 50 MB/s of recovery); at least 48 MB.

Why it matters: when the log is full the server flushes as hard as the device can, and everybody waits: the stalls of
write-heavy load.

Remedy: make it as large as half an hour needs; halve it when recovery may not take so long.

Risk: a crash takes longer to recover from. Before MySQL 8.0.30 and MariaDB 10.9 it needs a restart.

References: "InnoDB Performance Optimization Basics" (Percona, 2023): large enough for stable writes; "How To Tune
MariaDB Write Performance" (Percona, 2012): 4 GB in all; the recovery time of the contract bounds both.
"""

from dbdyno.engines._mysql.memory import rocksdb_leads
from dbdyno.engines._mysql.rules._setting import MIB, exists, setting, since
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    rate = facts.number("rate.innodb_os_log_written_per_s")
    allowed = facts.number("contract.recovery_s_max") * 50 * MIB
    if since(facts, mysql=80030):
        name, files = "innodb_redo_log_capacity", 1.0
    else:
        name = "innodb_log_file_size"
        files = facts.number("setting.innodb_log_files_in_group") if exists(facts, "innodb_log_files_in_group") else 1.0
    size = facts.number(f"setting.{name}") * files
    wanted = max(min(rate * 1800, allowed), 48 * MIB)
    if size >= wanted:
        return None
    target = (int(wanted / files) // (64 * MIB) + 1) * 64 * MIB
    return Finding(
        says=f"The redo log of {size / MIB:.0f} MiB is full after {size / max(rate, 1):.0f} s "
        f"at {rate / MIB:.1f} MiB/s.",
        fixes=(setting(facts, name, target),),
    )


RULE = Rule(
    id="INNO020",
    title="The redo log holds half an hour of changes",
    topic="writing",
    check=check,
    source=(
        "InnoDB Performance Optimization Basics (Percona, 2023); How To Tune MariaDB Write Performance (Percona, 2012)"
    ),
    applies=lambda facts: not rocksdb_leads(facts),
    good={
        "server.version": 80036,
        "setting.innodb_redo_log_capacity": 4294967296,
        "rate.innodb_os_log_written_per_s": 1000000.0,
        "contract.recovery_s_max": 120,
    },
    bad={
        "server.version": 80036,
        "setting.innodb_redo_log_capacity": 104857600,
        "rate.innodb_os_log_written_per_s": 5000000.0,
        "contract.recovery_s_max": 120,
    },
)
