"""PROXY007: Passwords are kept as they are

What it checks: the passwords in mysql_users are hashes.

Why it matters: whoever reads the admin interface, its file or a backup of it knows the passwords of all programs on
all servers.

Remedy: the hash as it is in mysql.user (*…), which is taken just as well; SAVE MYSQL USERS FROM RUNTIME keeps it.

Risk: none for mysql_native_password; caching_sha2_password needs a version that knows it.

References: "ProxySQL 1.2.1 GA Release" (Percona, 2016): plain or as a hash in the form of mysql.user.
"""

from dbdyno.engines.proxysql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    count, examples = facts.number("security.clear_password_count"), facts.text("security.clear_password_examples")
    if not count:
        return None
    return Finding(
        says=f"{count:.0f} accounts have their password in the clear: {examples}.",
        severity=Severity.ADVICE,
        fixes=(by_hand("mysql_users", "SAVE MYSQL USERS FROM RUNTIME; SAVE MYSQL USERS TO DISK;"),),
    )


RULE = Rule(
    id="PROXY007",
    title="Passwords are kept as hashes",
    topic="security",
    check=check,
    source="ProxySQL 1.2.1 GA Release (Percona, 2016)",
    good={"security.clear_password_count": 0, "security.clear_password_examples": ""},
    bad={"security.clear_password_count": 1, "security.clear_password_examples": "app"},
)
