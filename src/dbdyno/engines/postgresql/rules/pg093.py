"""PG093: A minor release is missing

What it checks: The server runs the newest minor release that we know of.

Why it matters: Minor releases hold nothing but fixes, among them for loss of data and for security.

Remedy: Update the packages and restart.

Risk: A restart.

References: PostgreSQL versioning policy (2026): the project always recommends the newest minor release.
"""

from dbdyno.engines.postgresql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    minor, known = facts.number("server.minor"), facts.number("server.minor_known")
    version = facts.text("server.version_text")
    if minor >= known:
        return None
    return Finding(
        says=f"Version {version} is at least {known - minor:.0f} minor releases old.",
        fixes=(by_hand("update", "install the newest minor release, then restart"),),
    )


RULE = Rule(
    id="PG093",
    title="The minor release is recent",
    topic="version",
    check=check,
    source="PostgreSQL versioning policy (2026)",
    good={"server.minor": 18, "server.minor_known": 18, "server.version_text": "15.18"},
    bad={"server.minor": 3, "server.minor_known": 18, "server.version_text": "15.3"},
)
