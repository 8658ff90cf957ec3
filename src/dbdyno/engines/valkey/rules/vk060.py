"""VK060: Slow commands are not written down

What it checks: the slow log is on and holds some.

Why it matters: when the server stands still nobody can tell which command it was.

Remedy: slowlog-log-slower-than 10000 (microseconds), slowlog-max-len 128 or more.

Risk: none: it is kept in memory, a few kilobytes.

References: Valkey manual, SLOWLOG GET (2024).
"""

from dbdyno.engines.valkey.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    slower, length = facts.number("setting.slowlog-log-slower-than"), facts.number("setting.slowlog-max-len")
    fixes = []
    if slower < 0:
        fixes.append(setting(facts, "slowlog-log-slower-than", 10000))
    if length <= 0:
        fixes.append(setting(facts, "slowlog-max-len", 128))
    if not fixes:
        return None
    return Finding(
        says=f"The slow log is off (slower than {slower:.0f} µs, {length:.0f} entries).",
        severity=Severity.ADVICE,
        fixes=tuple(fixes),
    )


RULE = Rule(
    id="VK060",
    title="Slow commands are written down",
    topic="logging",
    check=check,
    source="Valkey manual, SLOWLOG GET (2024)",
    good={"setting.slowlog-log-slower-than": 10000, "setting.slowlog-max-len": 128},
    bad={"setting.slowlog-log-slower-than": -1, "setting.slowlog-max-len": 0},
)
