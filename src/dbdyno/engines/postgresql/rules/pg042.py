"""PG042: Planner methods are switched off

What it checks: No enable_* switch is off in the server's configuration.

Why it matters: These switches are made to look into one query. For the whole server they forbid plans that other
queries need, and hide the cause: stale statistics, wrong costs, a missing index.

Remedy: Switch them on again, find the query for which they were switched off, and mend its cause.

Risk: That one query may become slow again.

References: PostgreSQL 15 manual, section 20.7.1 (2022)
"""

from dbdyno.engines.postgresql.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule

NAMES = ("seqscan", "indexscan", "bitmapscan", "nestloop", "hashjoin", "mergejoin", "sort", "hashagg")


def check(facts: Facts) -> Finding | None:
    states = {f"enable_{name}": facts.flag(f"setting.enable_{name}") for name in NAMES}
    off = [name for name, state in states.items() if not state]
    if not off:
        return None
    return Finding(
        says=f"{', '.join(off)} off for the whole server.",
        fixes=tuple(setting(facts, name, "on") for name in off),
    )


RULE = Rule(
    id="PG042",
    title="The planner may use all its methods",
    topic="planner",
    check=check,
    source="PostgreSQL 15 manual, 20.7.1 (2022)",
    good={
        "setting.enable_seqscan": "on",
        "setting.enable_indexscan": "on",
        "setting.enable_bitmapscan": "on",
        "setting.enable_nestloop": "on",
        "setting.enable_hashjoin": "on",
        "setting.enable_mergejoin": "on",
        "setting.enable_sort": "on",
        "setting.enable_hashagg": "on",
    },
    bad={
        "setting.enable_indexscan": "on",
        "setting.enable_bitmapscan": "on",
        "setting.enable_nestloop": "on",
        "setting.enable_hashjoin": "on",
        "setting.enable_mergejoin": "on",
        "setting.enable_sort": "on",
        "setting.enable_hashagg": "on",
        "setting.enable_seqscan": "off",
    },
)
