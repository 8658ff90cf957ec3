"""VK070: Anybody on the network may do anything

What it checks: a server that other machines reach asks for a password, or refuses them (protected mode).

Why it matters: such servers are found within hours and made into a stranger's: CONFIG SET dir and a snapshot are
enough to sign in as the server's user.

Remedy: a password (ACL SETUSER default >…, or requirepass), bind to the addresses that are needed, protected-mode
yes.

Risk: programs need the password: give it to them first.

References: Valkey manual, Security (2024).
"""

from dbdyno.engines.valkey.rules._setting import by_hand, open_default
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    reachable, mode, anybody = (
        facts.flag("security.reachable"),
        facts.flag("setting.protected-mode"),
        open_default(facts),
    )
    if not reachable or mode or not anybody:
        return None
    return Finding(
        says="Other machines may connect, without a password, and do anything (protected-mode is no).",
        severity=Severity.CRITICAL,
        fixes=(
            by_hand("default user", "CONFIG SET protected-mode yes; ACL SETUSER default resetpass >…; CONFIG REWRITE"),
        ),
    )


RULE = Rule(
    id="VK070",
    title="Strangers have to give a password",
    topic="security",
    check=check,
    source="Valkey manual, Security (2024)",
    good={
        "security.reachable": True,
        "setting.protected-mode": "yes",
        "security.default_on": True,
        "security.default_nopass": False,
    },
    bad={
        "security.reachable": True,
        "setting.protected-mode": "no",
        "security.default_on": True,
        "security.default_nopass": True,
    },
)
