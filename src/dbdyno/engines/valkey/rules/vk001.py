"""VK001: The version is at the end of its life

What it checks: the series of the server still gets fixes, and will for another 90 days.

Why it matters: faults that lose data or let strangers in are not mended any more.

Remedy: plan the update to a series with long support (Valkey 8.1 or later). A distribution may go on mending its own
build: ask it.

Risk: an update wants a rehearsal; a newer server's snapshot is not read by an older one, so keep the old one for the
way back.

References: the table advisories.toml of this folder, with its sources and dates (2026).
"""

from dbdyno.engines.support import support_ends
from dbdyno.engines.valkey.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    return support_ends(facts, by_hand("version", "update the server to a series with long support"))


RULE = Rule(
    id="VK001",
    title="The version gets fixes",
    topic="version",
    check=check,
    source="endoflife.date, Redis (2026) and Valkey (2025)",
    good={"server.series": "valkey 8.1", "server.end_of_life_unix_s": 2000000000.0, "check.unix_s": 1700000000.0},
    bad={"server.series": "redis 7.0", "server.end_of_life_unix_s": 1600000000.0, "check.unix_s": 1700000000.0},
)
