"""MONGO071: the version has known grave faults

What it checks: the version is not in our table of faults that lose, corrupt or disclose data.

Why it matters: they happen by themselves, or to whoever knows them.

Remedy: Update within the series.

Risk: a restart of each member.

References: the notices named in the finding (2021 to 2025)
"""

from dbdyno.engines.wiredtiger.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    count, examples = facts.number("server.faults_count"), facts.text("server.faults_examples")
    if not count:
        return None
    return Finding(
        says=f"{facts.text('server.version_text')}: {examples}.",
        severity=Severity.CRITICAL,
        fixes=(by_hand("version", "// update to the release named, member by member"),),
    )


RULE = Rule(
    id="MONGO071",
    title="The version has no known grave fault",
    topic="version",
    check=check,
    source="the notices named in the finding (2021 to 2025)",
    good={"server.faults_count": 0, "server.faults_examples": ""},
    bad={
        "server.faults_count": 1,
        "server.faults_examples": "a checkpoint may be inconsistent (WT-7995)",
        "server.version_text": "4.4.6",
    },
)
