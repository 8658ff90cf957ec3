"""MONGO057: the server warned at its start

What it checks: the log of startup warnings is empty.

Why it matters: the server looked itself: its file system, limits, memory settings and access control.

Remedy: Read them; other rules here name most of them with the fix.

Risk: none by reading.

References: MongoDB manual, getLog (2024)
"""

from dbdyno.engines.wiredtiger.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    count, said = facts.number("server.startup_warnings_count"), facts.text("server.startup_warnings_examples")
    if not count:
        return None
    return Finding(
        says=f"At its start the server warned: {said}",
        severity=Severity.ADVICE,
        fixes=(by_hand("warnings", "db.adminCommand({getLog: 'startupWarnings'})"),),
    )


RULE = Rule(
    id="MONGO057",
    title="The server started without a warning",
    topic="operations",
    check=check,
    source="MongoDB manual, getLog (2024)",
    good={"server.startup_warnings_count": 0, "server.startup_warnings_examples": ""},
    bad={
        "server.startup_warnings_count": 1,
        "server.startup_warnings_examples": "Access control is not enabled for the database.",
    },
)
