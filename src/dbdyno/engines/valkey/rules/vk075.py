"""VK075: Everybody on the machine can read the password

What it checks: a configuration file with a password is not readable by all.

Why it matters: each program on the machine can sign in.

Remedy: chmod 640, owned by the server's user.

Risk: none; whoever read it may have kept it: change the password too.

References: Valkey manual, Security (2024).
"""

from dbdyno.engines.valkey.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    exposed = facts.text("security.config_secret_world_readable")
    if not exposed:
        return None
    return Finding(
        says=f"{exposed} holds a password, and everybody on the machine may read it.",
        severity=Severity.CRITICAL,
        fixes=(by_hand("chmod", f"chmod 640 {exposed}; then change the password"),),
    )


RULE = Rule(
    id="VK075",
    title="The password is the server's own",
    topic="security",
    check=check,
    source="Valkey manual, Security (2024)",
    good={"security.config_secret_world_readable": ""},
    bad={"security.config_secret_world_readable": "/etc/valkey/valkey.conf"},
)
