"""PG110: Strangers may come in without a password

What it checks: No line of pg_hba.conf trusts connections from other machines.

Why it matters: Everybody who reaches the port is whoever he says he is.

Remedy: Use scram-sha-256, or certificates.

Risk: Clients without a password are turned away.

References: PostgreSQL 15 manual, section 21.1 (2022)
"""

from dbdyno.engines.postgresql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    remote, near = facts.number("security.hba_trust_remote_count"), facts.number("security.hba_trust_local_count")
    broken = facts.number("security.hba_errors_count")
    if not remote and not broken:
        return None
    return Finding(
        says=f"{remote:.0f} lines of pg_hba.conf trust other machines ({near:.0f} this one), {broken:.0f} are broken.",
        severity=Severity.CRITICAL,
        fixes=(by_hand("pg_hba.conf", "SELECT * FROM pg_hba_file_rules WHERE auth_method = 'trust' OR error <> '';"),),
    )


RULE = Rule(
    id="PG110",
    title="Nobody comes in from elsewhere without proof",
    topic="security",
    check=check,
    source="PostgreSQL 15 manual, 21.1 (2022)",
    good={"security.hba_trust_remote_count": 0, "security.hba_trust_local_count": 0, "security.hba_errors_count": 0},
    bad={"security.hba_trust_remote_count": 1, "security.hba_trust_local_count": 0, "security.hba_errors_count": 0},
)
