"""MONGO050: every operation is profiled

What it checks: no database is profiled at level 2.

Why it matters: each operation then writes a document of its own: reads become writes.

Remedy: Level 0 or 1; slow operations are in the log at level 0 too.

Risk: none.

References: MongoDB manual, Database Profiler (2024)
"""

from dbdyno.engines.wiredtiger.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    count, names = facts.number("server.profiled_databases_count"), facts.text("server.profiled_databases_examples")
    if not count:
        return None
    return Finding(
        says=f"Everything is profiled in {names}.",
        fixes=(by_hand("profile", "db.setProfilingLevel(0)"),),
    )


RULE = Rule(
    id="MONGO050",
    title="The profiler does not record everything",
    topic="operations",
    check=check,
    source="MongoDB manual, Database Profiler (2024)",
    good={"server.profiled_databases_count": 0, "server.profiled_databases_examples": ""},
    bad={"server.profiled_databases_count": 1, "server.profiled_databases_examples": "shop"},
)
