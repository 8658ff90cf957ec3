"""PG004: Pages have no checksums

What it checks: The cluster was made with data checksums.

Why it matters: Without them a page that the disk or memory damaged is read as if it were good, copied into backups and
to replicas, and found years later.

Remedy: Stop the server, run pg_checksums --enable, start it; or switch over to a replica that has them. New clusters:
initdb --data-checksums (the default from version 18 on).

Risk: The server stands still while all files are rewritten; then one to two percent of processor time.

References: PostgreSQL 15 manual, section 30.2 and pg_checksums (2022); PostgreSQL 18 release notes (2025) make them
the default.
"""

from dbdyno.engines.postgresql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    if facts.flag("server.data_checksums"):
        return None
    return Finding(
        says="Data checksums are off: damaged pages go unnoticed.",
        fixes=(by_hand("data_checksums", "pg_checksums --enable -D DATA_DIRECTORY # with the server stopped"),),
    )


RULE = Rule(
    id="PG004",
    title="Pages carry checksums",
    topic="durability",
    check=check,
    source="PostgreSQL 15 manual, 30.2 (2022)",
    good={"server.data_checksums": True},
    bad={"server.data_checksums": False},
)
