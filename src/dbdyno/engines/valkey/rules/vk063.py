"""VK063: Something stopped the server for a second

What it checks: no event that the latency monitor kept was longer than a second.

Why it matters: nobody was answered for that long.

Remedy: LATENCY DOCTOR explains each event; forks and flushes of the disk are the usual ones.

Risk: none.

References: Valkey manual, Latency monitoring (2024).
"""

from dbdyno.engines.valkey.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule

MS_MAX = 1000


def check(facts: Facts) -> Finding | None:
    worst, examples = facts.number("latency.worst_ms"), facts.text("latency.examples")
    if worst <= MS_MAX:
        return None
    return Finding(
        says=f"The longest event took {worst:.0f} ms ({examples}).",
        fixes=(by_hand("latency", "LATENCY DOCTOR"),),
    )


RULE = Rule(
    id="VK063",
    title="Nothing stopped the server for a second",
    topic="performance",
    check=check,
    source="Valkey manual, Latency monitoring (2024)",
    good={"latency.worst_ms": 12, "latency.examples": "command 12 ms"},
    bad={"latency.worst_ms": 4000, "latency.examples": "fork 4000 ms"},
)
