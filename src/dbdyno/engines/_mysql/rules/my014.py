"""MY014: The binary log carries no checksums

What it checks: binlog_checksum is not NONE.

Why it matters: a damaged event is executed on the replica, or at a restore, as if it were right.

Remedy: CRC32.

Risk: none that is felt.

References: MySQL 8.0 manual, 17.1.6.4 (2023).
"""

from dbdyno.engines._mysql.rules._setting import binary_log, setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.knob import Level
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    value = facts.text("setting.binlog_checksum")
    if value.upper() != "NONE":
        return None
    return Finding(
        says=f"binlog_checksum is {value}: damage of the binary log passes in silence.",
        durability=Level.L3,
        fixes=(setting(facts, "binlog_checksum", "CRC32"),),
    )


RULE = Rule(
    id="MY014",
    title="Events of the binary log carry checksums",
    topic="durability",
    check=check,
    source="MySQL 8.0 manual, 17.1.6.4 (2023)",
    applies=binary_log,
    good={"setting.log_bin": "ON", "setting.binlog_checksum": "CRC32"},
    bad={"setting.log_bin": "ON", "setting.binlog_checksum": "NONE"},
)
