"""PG115: Everybody may create objects in public

What it checks: The role PUBLIC may not create objects in the schema public.

Why it matters: Any user can put a function or an operator there that others call by mistake, with their rights.

Remedy: REVOKE CREATE ON SCHEMA public FROM PUBLIC, in each database. New databases have it so since version 15.

Risk: Applications whose tables were made by a common user must be granted it.

References: CVE-2018-1058 guide, PostgreSQL wiki (2018); PostgreSQL 15 manual, section 5.9.6 (2022)
"""

from dbdyno.engines.postgresql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    if not facts.flag("security.public_may_create"):
        return None
    return Finding(
        says="Everybody may create objects in the schema public of this database.",
        fixes=(
            by_hand(
                "public",
                "REVOKE CREATE ON SCHEMA public FROM PUBLIC;",
                undo="GRANT CREATE ON SCHEMA public TO PUBLIC;",
            ),
        ),
    )


RULE = Rule(
    id="PG115",
    title="Not everybody may create objects in public",
    topic="security",
    check=check,
    source="CVE-2018-1058 guide, PostgreSQL wiki (2018)",
    good={"security.public_may_create": False},
    bad={"security.public_may_create": True},
)
