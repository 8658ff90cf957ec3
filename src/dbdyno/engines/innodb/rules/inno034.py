"""INNO034: The adaptive hash index is of little use

What it checks: where innodb_adaptive_hash_index is on, at least a tenth of the searches of a busy server are answered
by it.

Why it matters: it is kept up by every change and its latch is shared by all; where few searches find anything in it,
it only costs.

Remedy: switch it off and compare.

Risk: searches by equality on a hot, read-only set may become slower.

References: MySQL 8.0 manual, 15.5.3 (2023): off by default from 8.4; MariaDB manual: off by default since 10.5
(2020).
"""

from dbdyno.engines._mysql.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    hit, missed = (facts.number(f"status.innodb_adaptive_hash_{name}searches") for name in ("hash_", "non_hash_"))
    searches = hit + missed
    if not facts.flag("setting.innodb_adaptive_hash_index") or searches < 10_000_000 or hit >= searches / 10:
        return None
    return Finding(
        says=f"The adaptive hash index answered {hit / searches:.0%} of {searches:.3g} searches.",
        severity=Severity.ADVICE,
        fixes=(setting(facts, "innodb_adaptive_hash_index", "OFF"),),
    )


RULE = Rule(
    id="INNO034",
    title="The adaptive hash index pays, or is off",
    topic="locking",
    check=check,
    source="MySQL 8.0 manual, 15.5.3 (2023); MariaDB 10.5 release notes (2020)",
    good={
        "setting.innodb_adaptive_hash_index": "ON",
        "status.innodb_adaptive_hash_hash_searches": 90000000.0,
        "status.innodb_adaptive_hash_non_hash_searches": 1000000.0,
    },
    bad={
        "setting.innodb_adaptive_hash_index": "ON",
        "status.innodb_adaptive_hash_hash_searches": 100000.0,
        "status.innodb_adaptive_hash_non_hash_searches": 90000000.0,
    },
)
