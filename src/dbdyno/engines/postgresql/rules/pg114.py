"""PG114: Everybody on the machine can read a password

What it checks: No configuration file that holds a password can be read by everybody.

Why it matters: Any account of the machine, also a web server that was broken into, has the password of the replication
user.

Remedy: chmod 0600, and use a passfile.

Risk: None.

References: PostgreSQL 15 manual, sections 18.2 and 34.16 (2022)
"""

import shlex

from dbdyno.engines.postgresql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    files = facts.text("security.config_secret_world_readable")
    if not files:
        return None
    return Finding(
        says=f"Everybody on the machine can read a password in {files}.",
        severity=Severity.CRITICAL,
        fixes=(by_hand("chmod", f"chmod 0600 {shlex.quote(files)}"),),
    )


RULE = Rule(
    id="PG114",
    title="Passwords in the configuration are private",
    topic="security",
    check=check,
    source="PostgreSQL 15 manual, 34.16 (2022)",
    good={"security.config_secret_world_readable": ""},
    bad={"security.config_secret_world_readable": "/etc/postgresql/15/main/postgresql.conf"},
)
