"""INNO022: Neighbours are flushed although the disk does not turn

What it checks: innodb_flush_neighbors is 0 where the data lies on flash.

Why it matters: on a rotating disk the neighbours of a dirty page come with the same turn; on flash each is a write of
its own that gains nothing.

Remedy: set it to 0 on flash.

Risk: none.

References: "How To Tune MariaDB Write Performance" (Percona, 2012): none on SSD, area or cont on rotating disks;
"MySQL/ZFS Performance Update" (Percona, 2018): 0.
"""

from dbdyno.engines._mysql.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    value, spins = facts.text("setting.innodb_flush_neighbors"), facts.flag("host.disk_rotational")
    if spins or value.lower() in ("0", "none", "off"):
        return None
    return Finding(
        says=f"innodb_flush_neighbors is {value} on a disk that does not turn.",
        severity=Severity.ADVICE,
        fixes=(setting(facts, "innodb_flush_neighbors", 0),),
    )


RULE = Rule(
    id="INNO022",
    title="Neighbouring pages are flushed on rotating disks only",
    topic="writing",
    check=check,
    source="How To Tune MariaDB Write Performance (Percona, 2012); MySQL 8.0 manual, 15.14 (2023)",
    good={"setting.innodb_flush_neighbors": 0, "host.disk_rotational": False},
    bad={"setting.innodb_flush_neighbors": 1, "host.disk_rotational": False},
)
