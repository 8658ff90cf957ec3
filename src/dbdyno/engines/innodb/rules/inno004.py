"""INNO004: Checksums are off

What it checks: innodb_checksum_algorithm is not none, innodb_log_checksums and innodb_checksums (where they exist)
are on.

Why it matters: without them a page that the disk gave back wrong is taken for good, and what is copied by backup and
replica is the damage.

Remedy: crc32 (full_crc32 on MariaDB) and innodb_log_checksums = ON.

Risk: none that a processor of this century shows.

References: MySQL 8.0 manual, 15.14 (2023); MariaDB manual, InnoDB System Variables (2024).
"""

from dbdyno.engines._mysql.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.knob import Level
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    algorithm = facts.text("setting.innodb_checksum_algorithm")
    off = [
        name
        for name in ("innodb_log_checksums", "innodb_checksums")
        if facts.has(f"setting.{name}") and not facts.flag(f"setting.{name}")
    ]
    fixes = tuple(setting(facts, name, "ON") for name in off)
    if algorithm.lower().endswith("none"):
        fixes += (setting(facts, "innodb_checksum_algorithm", "crc32"),)
        off.append(f"innodb_checksum_algorithm = {algorithm}")
    if not off:
        return None
    return Finding(
        says=f"Without checksums: {', '.join(off)}.", severity=Severity.CRITICAL, durability=Level.L3, fixes=fixes
    )


RULE = Rule(
    id="INNO004",
    title="Pages and log carry checksums",
    topic="durability",
    check=check,
    source="MySQL 8.0 manual, 15.14 (2023)",
    good={"setting.innodb_checksum_algorithm": "crc32"},
    bad={"setting.innodb_checksum_algorithm": "none"},
)
