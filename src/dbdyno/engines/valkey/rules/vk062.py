"""VK062: The slow log is full

What it checks: fewer commands than it holds are in the slow log.

Why it matters: there were more slow commands than are kept, each of which all others waited for.

Remedy: SLOWLOG GET shows them; mostly large keys, KEYS, long scripts or SORT.

Risk: none.

References: Valkey manual, SLOWLOG GET (2024).
"""

from dbdyno.engines.valkey.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    length, most = facts.number("slowlog.length"), facts.number("setting.slowlog-max-len")
    if length < most:
        return None
    return Finding(
        says=f"The slow log is full with {length:.0f} commands.",
        severity=Severity.ADVICE,
        fixes=(by_hand("slowlog", "SLOWLOG GET 20; then SLOWLOG RESET"),),
    )


RULE = Rule(
    id="VK062",
    title="Slow commands are rare",
    topic="performance",
    check=check,
    source="Valkey manual, SLOWLOG GET (2024)",
    applies=lambda facts: facts.number("setting.slowlog-max-len") > 0,
    good={"slowlog.length": 2, "setting.slowlog-max-len": 128},
    bad={"slowlog.length": 128, "setting.slowlog-max-len": 128},
)
