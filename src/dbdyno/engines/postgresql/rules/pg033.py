"""PG033: Whole pages go into the log uncompressed

What it checks: With more than 1 MiB of log a second, wal_compression is on.

Why it matters: Much of the log of a writing server is images of whole pages. They compress well: 41.6 % less log and
21 % more transactions in the article.

Remedy: Switch it on (lz4 from version 15 on, where the server was built with it).

Risk: Some processor time in each writing session.

References: Tuning PostgreSQL for sysbench-tpcc (Percona, 2018): 3,359 to 1,962 GB in ten hours (its words “more than
twice” are not its figures); PostgreSQL 15 manual, section 20.5 (2022)
"""

from dbdyno.engines.postgresql.memory import MIB
from dbdyno.engines.postgresql.rules._setting import setting
from dbdyno.engines.postgresql.rules._wal import believed, wal_bytes_per_s
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    word, rate = facts.text("setting.wal_compression"), wal_bytes_per_s(facts)
    if word != "off" or rate < MIB:
        return None
    believed(facts)
    return Finding(
        says=f"{rate / MIB:.1f} MiB of log a second, and wal_compression is off.",
        severity=Severity.ADVICE,
        fixes=(setting(facts, "wal_compression", "on"),),
    )


RULE = Rule(
    id="PG033",
    title="Page images in the log are compressed where it matters",
    topic="wal",
    check=check,
    source="Tuning PostgreSQL for sysbench-tpcc (Percona, 2018); PostgreSQL 15 manual, 20.5 (2022)",
    good={"setting.wal_compression": "on", "status.wal_bytes_per_s_mean": 5000000.0, "status.wal_stats_age_s": 86400},
    bad={"setting.wal_compression": "off", "status.wal_bytes_per_s_mean": 5000000.0, "status.wal_stats_age_s": 86400},
)
