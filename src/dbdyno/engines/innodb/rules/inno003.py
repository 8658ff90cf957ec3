"""INNO003: Files are not forced to the disk, or cached twice

What it checks: innodb_flush_method is not one of those for tests (nosync, littlesync); and where it is plain fsync,
that pages are not kept twice in memory.

Why it matters: nosync and littlesync force nothing, or too little, to the disk: a loss of power leaves a broken
database. O_DIRECT_NO_FSYNC loses the size of files that grow on some file systems. fsync is safe, but every page lies
in the buffer pool and in the cache of the kernel.

Remedy: O_DIRECT.

Risk: a restart. On a file system without direct I/O the server says so in its log and goes on with fsync.

References: "Linux performance tuning tips for MySQL" (Percona, 2013) and "InnoDB Performance Optimization Basics"
(Percona, 2023): O_DIRECT; "MySQL/ZFS Performance Update" (Percona, 2018): fsync, as that file system ignored O_DIRECT
before its version 2.3. So plain fsync is no finding where the file system is zfs; MySQL 8.0 manual, 15.14 (2023).
"""

from dbdyno.engines._mysql.memory import pool_meant_bytes
from dbdyno.engines._mysql.rules._setting import GIB, setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.knob import Level
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    method = facts.text("setting.innodb_flush_method")
    if method.lower() in ("nosync", "littlesync", "o_direct_no_fsync", "4", "5"):
        return Finding(
            says=f"innodb_flush_method is {method}: not all that is written is forced to the disk.",
            severity=Severity.CRITICAL,
            durability=Level.L3,
            fixes=(setting(facts, "innodb_flush_method", "O_DIRECT"),),
        )
    zfs = facts.has("host.data_filesystem") and facts.text("host.data_filesystem") == "zfs"
    if method.lower() not in ("", "fsync", "null", "fdatasync") or zfs:
        return None
    pool = pool_meant_bytes(facts)
    if pool < GIB:
        return None
    return Finding(
        says=f"innodb_flush_method is {method or 'fsync'}: the kernel caches the pages of the pool of "
        f"{pool / GIB:.1f} GiB once more.",
        severity=Severity.ADVICE,
        durability=Level.L3,
        fixes=(setting(facts, "innodb_flush_method", "O_DIRECT"),),
    )


RULE = Rule(
    id="INNO003",
    title="Files are flushed safely and cached once",
    topic="durability",
    check=check,
    source="InnoDB Performance Optimization Basics (Percona, 2023); MySQL 8.0 manual, 15.14 (2023)",
    good={"setting.innodb_flush_method": "O_DIRECT"},
    bad={"setting.innodb_flush_method": "nosync"},
)
