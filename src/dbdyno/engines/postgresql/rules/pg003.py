"""PG003: Commits do not wait for the log

What it checks: synchronous_commit waits at least for the local disk, in the server's settings and in those of roles
and databases.

Why it matters: With off, up to three times wal_writer_delay of transactions that were acknowledged are lost by a
crash. Nothing is torn, but somebody was told that they were safe.

Remedy: Set it to on. A session that can afford the loss (logging of clicks) may switch it off for itself. Look at
ALTER ROLE and ALTER DATABASE settings too: they are not seen in the configuration.

Risk: Each commit waits for the disk; group commit softens that under load.

References: Tuning PostgreSQL for sysbench-tpcc (Percona, 2018) files off under unsafe; PostgreSQL 15 manual, sections
20.5 and 30.4 (2022): recent transactions are lost, nothing is corrupted. The manual is more exact: level L2, not L0.
"""

from dbdyno.engines.postgresql.rules._setting import by_hand, setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.knob import Level
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    word, count = facts.text("setting.synchronous_commit"), facts.number("server.overrides_unsafe_count")
    overrides = facts.text("server.overrides_unsafe_examples")
    if word != "off" and not count:
        return None
    if word != "off":
        return Finding(
            says=f"{count:.0f} roles or databases have weaker durability of their own: {overrides}.",
            durability=Level.L3,
            fixes=(by_hand("pg_db_role_setting", "ALTER ROLE … RESET synchronous_commit; -- see \\drds in psql"),),
        )
    return Finding(
        says="synchronous_commit is off: acknowledged transactions of the last moments are lost by a crash.",
        severity=Severity.CRITICAL,
        durability=Level.L3,
        fixes=(setting(facts, "synchronous_commit", "on"),),
    )


RULE = Rule(
    id="PG003",
    title="A commit waits until its log is on disk",
    topic="durability",
    check=check,
    source="PostgreSQL 15 manual, 30.4 (2022); Tuning PostgreSQL for sysbench-tpcc (Percona, 2018)",
    good={
        "setting.synchronous_commit": "on",
        "server.overrides_unsafe_count": 0,
        "server.overrides_unsafe_examples": "",
    },
    bad={
        "setting.synchronous_commit": "off",
        "server.overrides_unsafe_count": 0,
        "server.overrides_unsafe_examples": "",
    },
)
