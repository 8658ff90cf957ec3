"""MONGO064: secrets in files can be read by others

What it checks: mongod.conf is not readable by everybody when it holds a password, and the key file of the cluster is
the server's alone.

Why it matters: who has the key file is a member of the cluster, with all rights.

Remedy: chmod 600, owned by the server's user.

Risk: none.

References: MongoDB manual, Keyfiles (2024)
"""

from dbdyno.engines.wiredtiger.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    exposed = facts.text("security.config_secret_world_readable")
    if not exposed:
        return None
    return Finding(
        says=f"Others can read secrets in {exposed}.",
        severity=Severity.CRITICAL,
        fixes=(by_hand("chmod", f"chmod 600 {exposed.replace(',', '')}"),),
    )


RULE = Rule(
    id="MONGO064",
    title="Secrets in files are for the server alone",
    topic="security",
    check=check,
    source="MongoDB manual, Security: Keyfiles (2024)",
    good={"security.config_secret_world_readable": ""},
    bad={"security.config_secret_world_readable": "/etc/mongo.key"},
)
