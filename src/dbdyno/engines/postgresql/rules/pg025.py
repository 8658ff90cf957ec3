"""PG025: A large cache stands on small pages

What it checks: With 8 GiB of shared_buffers and more, huge_pages is not off.

Why it matters: Each connection has its own page table for the shared memory: with 4-KiB pages that is 2 MiB for each
GiB, times the connections.

Remedy: Set huge_pages = try and reserve vm.nr_hugepages for shared_buffers.

Risk: Reserved pages serve nothing else.

References: PostgreSQL 15 manual, section 19.4.5 (2022)
"""

from dbdyno.engines.postgresql.memory import GIB, cache_wanted_bytes
from dbdyno.engines.postgresql.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    word, cache = facts.text("setting.huge_pages"), cache_wanted_bytes(facts)
    if word != "off" or cache < 8 * GIB:
        return None
    return Finding(
        says=f"huge_pages is off with {cache / GIB:.0f} GiB of shared_buffers (as it is, or as PG020 wants it).",
        severity=Severity.ADVICE,
        fixes=(setting(facts, "huge_pages", "try"),),
    )


RULE = Rule(
    id="PG025",
    title="A large cache may use huge pages",
    topic="memory",
    check=check,
    source="PostgreSQL 15 manual, 19.4.5 (2022)",
    good={
        "setting.huge_pages": "try",
        "setting.shared_buffers": 2097152,
        "server.memory_limit_bytes": 68719476736,
        "server.cluster_bytes": 53687091200,
    },
    bad={
        "setting.huge_pages": "off",
        "setting.shared_buffers": 2097152,
        "server.memory_limit_bytes": 68719476736,
        "server.cluster_bytes": 53687091200,
    },
)
