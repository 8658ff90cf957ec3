"""VK061: Latency is not watched

What it checks: latency-monitor-threshold is set.

Why it matters: what stopped the server (a fork, a flush, expiry) is not kept, and cannot be asked for afterwards.

Remedy: latency-monitor-threshold 100 (milliseconds).

Risk: none that can be measured.

References: Valkey manual, Latency monitoring (2024).
"""

from dbdyno.engines.valkey.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    if facts.number("setting.latency-monitor-threshold"):
        return None
    return Finding(
        says="latency-monitor-threshold is 0: events that stop the server are not kept.",
        severity=Severity.ADVICE,
        fixes=(setting(facts, "latency-monitor-threshold", 100),),
    )


RULE = Rule(
    id="VK061",
    title="Latency is watched",
    topic="logging",
    check=check,
    source="Valkey manual, Latency monitoring (2024)",
    good={"setting.latency-monitor-threshold": 100},
    bad={"setting.latency-monitor-threshold": 0},
)
