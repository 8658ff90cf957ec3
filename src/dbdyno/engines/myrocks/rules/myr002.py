"""MYR002: Switches for loading are on

What it checks: rocksdb_bulk_load, rocksdb_bulk_load_allow_unsorted, rocksdb_skip_unique_check and
rocksdb_commit_in_the_middle are off as global values.

Why it matters: they skip checks of keys and commit within a statement: right for one loading session, wrong for
everybody.

Remedy: switch them off; set them in the session that loads.

Risk: loading becomes slower where the program does not set them itself.

References: MariaDB manual, MyRocks System Variables and Loading Data Into MyRocks (2024).
"""

from dbdyno.engines._mysql.rules._setting import exists, setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.knob import Level
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    names = ("rocksdb_bulk_load", "rocksdb_commit_in_the_middle")
    more = ("rocksdb_bulk_load_allow_unsorted",)
    on = [name for name, flag in [(name, facts.flag(f"setting.{name}")) for name in names] if flag]
    on += [name for name in more if facts.has(f"setting.{name}") and facts.flag(f"setting.{name}")]
    if not on:
        return None
    return Finding(
        says=f"{', '.join(on)} on for everybody.",
        severity=Severity.CRITICAL,
        durability=Level.L3,
        fixes=tuple(setting(facts, name, "OFF") for name in on),
    )


RULE = Rule(
    id="MYR002",
    title="No switch for loading is on",
    topic="durability",
    check=check,
    source="MariaDB manual, Loading Data Into MyRocks (2024)",
    applies=lambda facts: exists(facts, "rocksdb_block_cache_size"),
    good={"setting.rocksdb_bulk_load": "OFF", "setting.rocksdb_commit_in_the_middle": "OFF"},
    bad={"setting.rocksdb_bulk_load": "ON", "setting.rocksdb_commit_in_the_middle": "OFF"},
)
