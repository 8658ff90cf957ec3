"""MONGO032: huge pages are not what this version wants

What it checks: from version 8.0 on, transparent huge pages are on.

Why it matters: since 8.0 its allocator (TCMalloc with caches for each processor) is made for them; up to 7.0 they
cost latency and memory, which HOST005 looks after.

Remedy: always, from 8.0 on, set before mongod starts. On hosts that other servers share this contradicts what those
want: then decide for the larger one, or leave madvise.

Risk: other programs on the host get huge pages too. PPC64LE and s390x keep the old allocator: there leave them off.

References: Tuning Linux for MongoDB (Percona, 2016): never; MongoDB manual, TCMalloc Performance Optimization (2024):
on since 8.0, off before. Resolved by version.
"""

from dbdyno.engines.wiredtiger.rules._setting import by_hand, version
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    if facts.text("host.thp.enabled") == "always":
        return None
    service = "echo always > /sys/kernel/mm/transparent_hugepage/enabled # in a unit that runs before mongod"
    return Finding(
        says="Transparent huge pages are not on for all, which this version is made for.",
        severity=Severity.ADVICE,
        fixes=(by_hand("transparent_hugepage", service),),
    )


RULE = Rule(
    id="MONGO032",
    title="Transparent huge pages suit the version",
    topic="memory",
    check=check,
    source="MongoDB manual, TCMalloc Performance Optimization (2024)",
    applies=lambda facts: version(facts) >= 80000,
    good={"server.version": 80004, "host.thp.enabled": "always"},
    bad={"server.version": 80004, "host.thp.enabled": "never"},
)
