"""VK030: The backlog is too small for a short interruption

What it checks: the backlog holds at least a minute of what is written (the rate of now, or the mean since the start).

Why it matters: a replica that was away longer than the backlog reaches makes a whole copy: a child, memory, the
network.

Remedy: repl-backlog-size for five minutes of writes.

Risk: that much memory.

References: Valkey manual, Replication (2024); valkey.conf 8.0, repl-backlog-size (2024).
"""

from dbdyno.engines.valkey.rules._setting import MIB, setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule

SECONDS_MIN, SECONDS_WANTED = 60, 300


def check(facts: Facts) -> Finding | None:
    backlog, rate = facts.number("setting.repl-backlog-size"), facts.number("status.replicated_bytes_per_s_mean")
    if facts.has("rate.replicated_bytes_per_s"):
        rate = max(rate, facts.number("rate.replicated_bytes_per_s"))
    if backlog >= rate * SECONDS_MIN:
        return None
    wanted = int(rate * SECONDS_WANTED // MIB + 1) * MIB
    return Finding(
        says=f"The backlog of {backlog / MIB:.1f} MiB holds {backlog / rate:.0f} s of writes.",
        fixes=(setting(facts, "repl-backlog-size", wanted),),
    )


RULE = Rule(
    id="VK030",
    title="The backlog bridges a short interruption",
    topic="replication",
    check=check,
    source="valkey.conf 8.0, repl-backlog-size (2024)",
    applies=lambda facts: facts.number("replication.replicas_count") > 0,
    good={
        "replication.replicas_count": 1,
        "setting.repl-backlog-size": 67108864,
        "status.replicated_bytes_per_s_mean": 10000.0,
    },
    bad={
        "replication.replicas_count": 1,
        "setting.repl-backlog-size": 1048576,
        "status.replicated_bytes_per_s_mean": 1000000.0,
    },
)
