"""VK050: More threads than cores

What it checks: io-threads is less than the number of cores.

Why it matters: the threads turn in circles while they wait, and take the time of the one that runs the commands.

Remedy: io-threads at half of the cores, at most 8; 1 on fewer than four cores.

Risk: a restart.

References: valkey.conf 8.0 and redis.conf 7.0, io-threads (2024, 2022): at least one spare core.
"""

from dbdyno.engines.valkey.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    threads, cores = facts.number("setting.io-threads"), facts.number("host.cores")
    if threads < cores:
        return None
    wanted = max(1, min(8, int(cores) // 2)) if cores >= 4 else 1
    return Finding(
        says=f"{threads:.0f} threads read and write sockets on {cores:.0f} cores.",
        fixes=(setting(facts, "io-threads", wanted),),
    )


RULE = Rule(
    id="VK050",
    title="Threads have a core each",
    topic="performance",
    check=check,
    source="valkey.conf 8.0, io-threads (2024)",
    applies=lambda facts: facts.number("setting.io-threads") > 1,
    good={"setting.io-threads": 4, "host.cores": 8},
    bad={"setting.io-threads": 8, "host.cores": 4},
)
