"""VK071: The default user has no password

What it checks: the user default asks for a password, or is off.

Why it matters: each program on the machine, also one that was tricked into a request to another address, may do
anything.

Remedy: a password for default (requirepass), and an account for each program with the commands and keys that it
needs.

Risk: programs need the password: give it to them first.

References: Valkey manual, ACL and Security (2024).
"""

from dbdyno.engines.valkey.rules._setting import by_hand, open_default
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    if not open_default(facts):
        return None
    return Finding(
        says="The user default has no password.",
        severity=Severity.ADVICE,
        fixes=(by_hand("requirepass", "ACL SETUSER default resetpass >…; CONFIG REWRITE (or ACL SAVE)"),),
    )


RULE = Rule(
    id="VK071",
    title="The default user has a password",
    topic="security",
    check=check,
    source="Valkey manual, ACL (2024)",
    good={"security.default_on": True, "security.default_nopass": False},
    bad={"security.default_on": True, "security.default_nopass": True},
)
