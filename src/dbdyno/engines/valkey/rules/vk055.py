"""VK055: Commands that stop everybody are in use

What it checks: KEYS, MONITOR, SAVE and DEBUG were not called since the start.

Why it matters: KEYS looks at every key and SAVE writes them all, while nobody else is answered; MONITOR halves the
throughput.

Remedy: SCAN instead of KEYS, BGSAVE instead of SAVE, the slow log instead of MONITOR; take them from the accounts of
programs (ACL SETUSER … -@dangerous).

Risk: programs that use them are refused.

References: Valkey manual, KEYS, MONITOR, SAVE (2024).
"""

from dbdyno.engines.valkey.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    calls, examples = facts.number("commands.dangerous_calls"), facts.text("commands.dangerous_examples")
    if not calls:
        return None
    return Finding(
        says=f"Called since the start: {examples}.",
        severity=Severity.ADVICE,
        fixes=(by_hand("acl", "ACL SETUSER … -keys -monitor -save -debug"),),
    )


RULE = Rule(
    id="VK055",
    title="No command stops everybody",
    topic="performance",
    check=check,
    source="Valkey manual, KEYS and Latency (2024)",
    good={"commands.dangerous_calls": 0, "commands.dangerous_examples": ""},
    bad={"commands.dangerous_calls": 3, "commands.dangerous_examples": "keys 3 times"},
)
