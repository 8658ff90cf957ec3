"""VK019: Buffers of replicas or subscribers have no limit

What it checks: client-output-buffer-limit bounds replicas and subscribers.

Why it matters: one that reads slowly makes the server keep its answers in memory, beside maxmemory, until it is
killed.

Remedy: 256 MiB, 64 MiB for a minute (replicas); 32 MiB, 8 MiB for a minute (subscribers): the defaults.

Risk: a replica that is cut off makes a whole copy; a subscriber misses messages.

References: valkey.conf 8.0, client-output-buffer-limit (2024).
"""

from dbdyno.engines.valkey.rules._setting import limits_of, limits_text, setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule

DEFAULTS = {"replica": (256 << 20, 64 << 20, 60), "pubsub": (32 << 20, 8 << 20, 60)}


def check(facts: Facts) -> Finding | None:
    limits = limits_of(facts)
    endless = [kind for kind in DEFAULTS if limits.get(kind, (0, 0, 0))[:2] == (0, 0)]
    if not endless:
        return None
    wanted = limits | {kind: DEFAULTS[kind] for kind in endless}
    return Finding(
        says=f"Output buffers without a limit: {' and '.join(endless)}.",
        fixes=(setting(facts, "client-output-buffer-limit", limits_text(facts, wanted)),),
    )


RULE = Rule(
    id="VK019",
    title="Buffers of slow readers are bounded",
    topic="memory",
    check=check,
    source="valkey.conf 8.0, client-output-buffer-limit (2024)",
    good={"setting.client-output-buffer-limit": "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60"},
    bad={"setting.client-output-buffer-limit": "normal 0 0 0 slave 0 0 0 pubsub 33554432 8388608 60"},
)
