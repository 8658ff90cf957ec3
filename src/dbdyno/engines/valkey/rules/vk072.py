"""VK072: Accounts without a password

What it checks: no account but default is open with nopass.

Why it matters: whoever knows the name is that user.

Remedy: ACL SETUSER … resetpass >…, or off.

Risk: programs that use it are refused.

References: Valkey manual, ACL (2024).
"""

from dbdyno.engines.valkey.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    count, examples = facts.number("security.nopass_count"), facts.text("security.nopass_examples")
    if not count:
        return None
    return Finding(
        says=f"{count:.0f} accounts need no password: {examples}.",
        severity=Severity.CRITICAL,
        fixes=(by_hand("acl", "ACL SETUSER … resetpass >…"),),
    )


RULE = Rule(
    id="VK072",
    title="Each account has a password",
    topic="security",
    check=check,
    source="Valkey manual, ACL (2024)",
    good={"security.nopass_count": 0, "security.nopass_examples": ""},
    bad={"security.nopass_count": 1, "security.nopass_examples": "worker"},
)
