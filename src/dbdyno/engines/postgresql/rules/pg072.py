"""PG072: Idle transactions may stay for ever

What it checks: idle_in_transaction_session_timeout is set.

Why it matters: One client that forgets to commit keeps dead rows in the whole cluster and locks on what it touched.

Remedy: Ten minutes is generous.

Risk: A client that pauses longer inside a transaction is cut off.

References: PostgreSQL 15 manual, section 20.11 (2022)
"""

from dbdyno.engines.postgresql.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    if facts.number("setting.idle_in_transaction_session_timeout") > 0:
        return None
    return Finding(
        says="idle_in_transaction_session_timeout is 0: a forgotten transaction stays for ever.",
        severity=Severity.ADVICE,
        fixes=(setting(facts, "idle_in_transaction_session_timeout", 600000),),
    )


RULE = Rule(
    id="PG072",
    title="Idle transactions are ended",
    topic="connections",
    check=check,
    source="PostgreSQL 15 manual, 20.11 (2022)",
    good={"setting.idle_in_transaction_session_timeout": 600000},
    bad={"setting.idle_in_transaction_session_timeout": 0},
)
