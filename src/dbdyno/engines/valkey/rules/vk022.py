"""VK022: The append-only file is never flushed

What it checks: appendfsync is everysec or always.

Why it matters: with no the kernel flushes when it likes, mostly within 30 s: that much is lost with the power.

Remedy: everysec (at most two seconds are lost), or always for a contract of L3.

Risk: everysec costs little; always costs a flush for each turn of the loop.

References: Valkey manual, Persistence, "How durable is the append only file?" (2024).
"""

from dbdyno.engines.valkey.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.knob import Level
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    word = facts.text("setting.appendfsync")
    if word != "no":
        return None
    return Finding(
        says="appendfsync is no: a loss of power loses what the kernel had not written, some 30 s.",
        fixes=(setting(facts, "appendfsync", "everysec"),),
        durability=Level.L2,
    )


RULE = Rule(
    id="VK022",
    title="The append-only file is flushed",
    topic="durability",
    check=check,
    source="Valkey manual, Persistence (2024)",
    applies=lambda facts: facts.flag("setting.appendonly"),
    good={"setting.appendonly": "yes", "setting.appendfsync": "everysec"},
    bad={"setting.appendonly": "yes", "setting.appendfsync": "no"},
)
