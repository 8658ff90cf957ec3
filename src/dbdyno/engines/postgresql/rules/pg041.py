"""PG041: The disk could be read ahead more

What it checks: effective_io_concurrency is at least 16 on solid-state disks.

Why it matters: It says how many pages a bitmap scan asks for before it needs them. A solid-state disk serves many
requests at once.

Remedy: 200 on solid-state disks.

Risk: More requests at once; other users of the disk feel it.

References: PostgreSQL 15 manual, section 20.4.5 (2022): hundreds for solid-state disks; PostgreSQL 18 release notes
(2025) make 16 the default.
"""

from dbdyno.engines.postgresql.rules._disk import rotating
from dbdyno.engines.postgresql.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    ahead, rotates = facts.number("setting.effective_io_concurrency"), rotating(facts)
    if rotates or ahead >= 16:
        return None
    return Finding(
        says=f"effective_io_concurrency is {ahead:.0f} on a solid-state disk.",
        severity=Severity.ADVICE,
        fixes=(setting(facts, "effective_io_concurrency", 200),),
    )


RULE = Rule(
    id="PG041",
    title="Bitmap scans read ahead enough",
    topic="planner",
    check=check,
    source="PostgreSQL 15 manual, 20.4.5 (2022)",
    good={"host.disk_rotational": False, "host.virtualised": False, "setting.effective_io_concurrency": 200},
    bad={"host.disk_rotational": False, "host.virtualised": False, "setting.effective_io_concurrency": 1},
)
