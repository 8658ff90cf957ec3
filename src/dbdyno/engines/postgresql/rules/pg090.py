"""PG090: The version gets no more fixes

What it checks: The major version's end of life is at least half a year away.

Why it matters: After it no fault is mended any more, not even those that lose data or let strangers in.

Remedy: Plan the upgrade: pg_upgrade takes minutes with --link, logical replication takes seconds.

Risk: Test the application against the new version first.

References: PostgreSQL versioning policy (2026); advisories.toml has the dates.
"""

from dbdyno.engines.postgresql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule

DAY_S = 86400
SOON_DAYS = 183


def check(facts: Facts) -> Finding | None:
    end, now = facts.number("server.end_of_life_unix_s"), facts.number("check.unix_s")
    version, days = facts.text("server.version_text"), (end - now) / DAY_S
    if days >= SOON_DAYS:
        return None
    when = f"ended {-days:.0f} days ago" if days < 0 else f"ends in {days:.0f} days"
    return Finding(
        says=f"The support of version {version} {when}.",
        severity=Severity.CRITICAL if days < 0 else Severity.ADVICE,
        fixes=(by_hand("upgrade", "pg_upgrade --check …"),),
    )


RULE = Rule(
    id="PG090",
    title="The version is supported",
    topic="version",
    check=check,
    source="PostgreSQL versioning policy (2026)",
    good={"server.end_of_life_unix_s": 1893456000.0, "check.unix_s": 1795000000.0, "server.version_text": "17.10"},
    bad={"server.end_of_life_unix_s": 1732147200.0, "check.unix_s": 1795000000.0, "server.version_text": "12.22"},
)
