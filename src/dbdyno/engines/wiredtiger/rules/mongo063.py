"""MONGO063: the localhost exception is open

What it checks: with authorisation on, enableLocalhostAuthBypass is false.

Why it matters: as long as there is no user, whoever is on the machine may make the first one; a restored or new
member has none for a while.

Remedy: Set it to false in the file once the first user is there.

Risk: none then.

References: MongoDB manual, Localhost Exception (2024)
"""

from dbdyno.engines.wiredtiger.rules._setting import by_hand, guarded
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    if not facts.flag("setting.setParameter.enableLocalhostAuthBypass"):
        return None
    return Finding(
        says="enableLocalhostAuthBypass is true.",
        severity=Severity.ADVICE,
        # Only a person knows whether there is a user already; without one, nobody could come in any more.
        fixes=(by_hand("enableLocalhostAuthBypass", "setParameter.enableLocalhostAuthBypass: false # mongod.conf"),),
    )


RULE = Rule(
    id="MONGO063",
    title="The localhost exception is closed",
    topic="security",
    check=check,
    source="MongoDB manual, Localhost Exception (2024)",
    applies=guarded,
    good={
        "setting.security.authorization": "enabled",
        "setting.security.keyFile": "",
        "setting.setParameter.enableLocalhostAuthBypass": "false",
    },
    bad={
        "setting.security.authorization": "enabled",
        "setting.security.keyFile": "",
        "setting.setParameter.enableLocalhostAuthBypass": "true",
    },
)
