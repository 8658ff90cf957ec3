"""VK053: Keys whose time is over stay in memory

What it checks: less than a tenth of the keys with an end is estimated to be over it.

Why it matters: they take memory until somebody asks for them.

Remedy: active-expire-effort 3 (up to 10), or a higher hz.

Risk: more time of the one thread.

References: Valkey manual, EXPIRE and INFO, expired_stale_perc (2024).
"""

from dbdyno.engines.valkey.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule

PERCENT_MAX, KEYS_MIN = 10, 10_000


def check(facts: Facts) -> Finding | None:
    percent, ending = facts.number("status.expired_stale_perc"), facts.number("keyspace.expires_count")
    if percent <= PERCENT_MAX or ending < KEYS_MIN:
        return None
    return Finding(
        says=f"About {percent:.0f} % of {ending:.0f} keys with an end are past it and still there.",
        severity=Severity.ADVICE,
        fixes=(
            by_hand(
                "active-expire-effort", "CONFIG SET active-expire-effort 3", undo="CONFIG SET active-expire-effort 1"
            ),
        ),
    )


RULE = Rule(
    id="VK053",
    title="Keys whose time is over are gone",
    topic="memory",
    check=check,
    source="Valkey manual, INFO (2024)",
    good={"status.expired_stale_perc": 0.5, "keyspace.expires_count": 100000},
    bad={"status.expired_stale_perc": 40.0, "keyspace.expires_count": 100000},
)
