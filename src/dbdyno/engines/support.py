"""What a rule about a version's support says, for every product whose series and ends of life are known."""

from __future__ import annotations

from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Fix, Severity

NEAR_DAYS = 90
"""An end that is further away is nobody's concern yet."""


def support_ends(facts: Facts, fix: Fix) -> Finding | None:
    """A warning after the end of support, advice shortly before it. Raises `MissingFact` where the end is unknown."""
    series, end, now = (
        facts.text("server.series"),
        facts.number("server.end_of_life_unix_s"),
        facts.number("check.unix_s"),
    )
    days = (end - now) / 86400
    if days > NEAR_DAYS:
        return None
    when = f"ended {-days:.0f} days ago" if days < 0 else f"ends in {days:.0f} days"
    return Finding(
        says=f"Support of {series} {when}.",
        severity=Severity.WARNING if days < 0 else Severity.ADVICE,
        fixes=(fix,),
    )
