"""PG112: Superusers may come from other machines

What it checks: No line of pg_hba.conf lets a superuser in from other machines by a password.

Why it matters: A superuser reads and writes every file of the server's user and runs programs. One guessed or leaked
password is the whole machine.

Remedy: Name the roles and databases that may come from elsewhere instead of “all”, or put a reject line for superusers
before.

Risk: Administrators connect through SSH, or with a certificate.

References: PostgreSQL 15 manual, section 21.1 (2022)
"""

from dbdyno.engines.postgresql.rules._listen import is_remote
from dbdyno.engines.postgresql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    count, listens = facts.number("security.hba_remote_superuser_count"), facts.text("setting.listen_addresses")
    if not count or not is_remote(listens):
        return None
    return Finding(
        says=f"{count:.0f} lines of pg_hba.conf let superusers in from other machines.",
        fixes=(by_hand("pg_hba.conf", "host all postgres 0.0.0.0/0 reject # before the others"),),
    )


RULE = Rule(
    id="PG112",
    title="Superusers come from this machine only",
    topic="security",
    check=check,
    source="PostgreSQL 15 manual, 21.1 (2022)",
    good={"security.hba_remote_superuser_count": 0, "setting.listen_addresses": "*"},
    bad={"security.hba_remote_superuser_count": 2, "setting.listen_addresses": "*"},
)
