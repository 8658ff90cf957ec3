"""MY030: Replication has stopped

What it checks: on a replica, both threads run and the lag is below five minutes.

Why it matters: reads are old, and the copy that was meant to save the data falls behind further each minute.

Remedy: read the error that is shown; repair the cause, then START REPLICA (START SLAVE). Do not skip what is not
understood.

Risk: none in starting; skipping an event makes the copy differ.

References: MySQL 8.0 manual, 13.7.7.35 (2023).
"""

from dbdyno.engines._mysql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    reading, applying = facts.text("replication.io_running"), facts.text("replication.sql_running")
    if "Yes" not in (reading, applying) or reading != applying:
        error = facts.text("replication.last_error") if facts.has("replication.last_error") else ""
        return Finding(
            says=f"The replica does not run: reading {reading}, applying {applying}. {error[:200]}".strip(),
            severity=Severity.CRITICAL,
            fixes=(by_hand("replica", "SHOW REPLICA STATUS; START REPLICA;"),),
        )
    if (lag := facts.number("replication.lag_s")) < 300:
        return None
    return Finding(
        says=f"The replica is {lag:.0f} s behind.", fixes=(by_hand("replica", "SHOW PROCESSLIST; -- what it applies"),)
    )


RULE = Rule(
    id="MY030",
    title="Replication runs",
    topic="replication",
    check=check,
    source="MySQL 8.0 manual, 13.7.7.35 SHOW REPLICA STATUS (2023)",
    applies=lambda facts: facts.text("server.role") == "replica",
    good={
        "server.role": "replica",
        "replication.io_running": "Yes",
        "replication.sql_running": "Yes",
        "replication.lag_s": 0,
    },
    bad={
        "server.role": "replica",
        "replication.io_running": "Yes",
        "replication.sql_running": "No",
        "replication.lag_s": 0,
    },
)
