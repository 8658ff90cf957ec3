"""PG111: Passwords are kept or sent in a weak form

What it checks: No login has an MD5 password, password_encryption is scram-sha-256, and no line of pg_hba.conf sends
passwords in the clear.

Why it matters: An MD5 hash of a password is as good as the password to whoever reads it from a backup; the method
password sends the password itself.

Remedy: Set password_encryption = scram-sha-256, let users set their passwords again, then write scram-sha-256 in
pg_hba.conf.

Risk: Clients older than ten years cannot do it.

References: PostgreSQL 15 manual, section 21.5 (2022); PostgreSQL 18 release notes (2025) deprecate MD5.
"""

from dbdyno.engines.postgresql.rules._setting import by_hand, setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Fix
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    word, count = facts.text("setting.password_encryption"), facts.number("security.logins_md5_count")
    names, plain = facts.text("security.logins_md5_examples"), facts.number("security.hba_plain_password_count")
    if word == "scram-sha-256" and not count and not plain:
        return None
    fixes: tuple[Fix, ...] = (
        (setting(facts, "password_encryption", "scram-sha-256"),) if word != "scram-sha-256" else ()
    )
    if count or plain:
        fixes += (by_hand("passwords", "\\password NAME -- in psql, for each of them"),)
    return Finding(
        says=f"password_encryption is {word}; {count:.0f} logins have MD5 passwords ({names}); {plain:.0f} lines of "
        "pg_hba.conf send passwords in the clear.",
        fixes=fixes,
    )


RULE = Rule(
    id="PG111",
    title="Passwords are kept and proven by SCRAM",
    topic="security",
    check=check,
    source="PostgreSQL 15 manual, 21.5 (2022)",
    good={
        "setting.password_encryption": "scram-sha-256",
        "security.logins_md5_count": 0,
        "security.logins_md5_examples": "",
        "security.hba_plain_password_count": 0,
    },
    bad={
        "setting.password_encryption": "md5",
        "security.logins_md5_count": 0,
        "security.logins_md5_examples": "",
        "security.hba_plain_password_count": 0,
    },
)
