"""MY026: Buffers of a connection are large for all

What it checks: sort_buffer_size, join_buffer_size, read_buffer_size and read_rnd_buffer_size are at most 8 MiB as
global values.

Why it matters: every connection may take them, some several times in one statement; beyond 2 MiB the kernel maps and
clears the memory each time.

Remedy: the defaults; a report that needs more sets it for its own session.

Risk: single large sorts use more passes.

References: MySQL 8.0 manual, 5.1.8 on sort_buffer_size and join_buffer_size (2023).
"""

from dbdyno.engines._mysql.memory import BUFFER_BYTES_MAX, USUAL
from dbdyno.engines._mysql.rules._setting import MIB, setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    sizes = {name: facts.number(f"setting.{name}") for name in USUAL}
    large = [name for name, size in sizes.items() if size > BUFFER_BYTES_MAX]
    if not large:
        return None
    return Finding(
        says="; ".join(f"{name} is {sizes[name] / MIB:.0f} MiB" for name in large) + " for everybody.",
        fixes=tuple(setting(facts, name, USUAL[name]) for name in large),
    )


RULE = Rule(
    id="MY026",
    title="Buffers of a connection are small by default",
    topic="memory",
    check=check,
    source="MySQL 8.0 manual, 5.1.8 (2023)",
    good={
        "setting.sort_buffer_size": 262144,
        "setting.join_buffer_size": 262144,
        "setting.read_buffer_size": 131072,
        "setting.read_rnd_buffer_size": 262144,
    },
    bad={
        "setting.sort_buffer_size": 67108864,
        "setting.join_buffer_size": 262144,
        "setting.read_buffer_size": 131072,
        "setting.read_rnd_buffer_size": 262144,
    },
)
