"""INNO021: The background writes more than it should

What it checks: innodb_io_capacity is at most 2000 on flash and 400 on rotating disks, and innodb_io_capacity_max is
not below it.

Why it matters: a page that waits is written once for many changes. A high rate writes it again and again, wears the
device and takes its time from reads and from the log.

Remedy: the default of 200; raise it only while the age of the checkpoint or the share of dirty pages keeps growing.

Risk: none at once; watch the checkpoint age.

References: "How To Tune MariaDB Write Performance" (Percona, 2012): just under what the device does, for XtraDB 5.5,
whose flushing needs that ceiling; "The relationship between Innodb Log checkpointing and dirty Buffer pool pages"
(Percona, undated): a high fixed rate starves reads; "InnoDB Performance Optimization Basics" (Percona, 2023): as low
as practical. Resolved by date and version: low from MySQL 5.6 on.
"""

from dbdyno.engines._mysql.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    capacity, most = facts.number("setting.innodb_io_capacity"), facts.number("setting.innodb_io_capacity_max")
    spins = facts.has("host.disk_rotational") and facts.flag("host.disk_rotational")
    limit = 400 if spins else 2000
    if limit >= capacity:
        return None
    return Finding(
        says=f"innodb_io_capacity is {capacity:.0f} (max {most:.0f}): "
        "background writes compete with reads and the log.",
        severity=Severity.ADVICE,
        fixes=(setting(facts, "innodb_io_capacity", 200),),
    )


RULE = Rule(
    id="INNO021",
    title="Background flushing is kept low",
    topic="writing",
    check=check,
    source="InnoDB Performance Optimization Basics (Percona, 2023)",
    good={"setting.innodb_io_capacity": 200, "setting.innodb_io_capacity_max": 2000},
    bad={"setting.innodb_io_capacity": 20000, "setting.innodb_io_capacity_max": 40000},
)
