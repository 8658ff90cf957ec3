"""INNO026: Asynchronous I/O is off

What it checks: innodb_use_native_aio is on.

Why it matters: without it every page that is read ahead or flushed occupies a thread of the server.

Remedy: switch it on; where it fails at the start, raise fs.aio-max-nr.

Risk: a restart.

References: "The relationship between Innodb Log checkpointing and dirty Buffer pool pages" (Percona, undated): more
I/O threads are of doubtful value with native AIO; "MySQL/ZFS Performance Update" (Percona, 2018): off with more
threads, on ZFS alone. Resolved: on, except on zfs.
"""

from dbdyno.engines._mysql.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    zfs = facts.has("host.data_filesystem") and facts.text("host.data_filesystem") == "zfs"
    if facts.flag("setting.innodb_use_native_aio") or zfs:
        return None
    return Finding(
        says="innodb_use_native_aio is off: each read and write of a page occupies a thread.",
        severity=Severity.ADVICE,
        fixes=(setting(facts, "innodb_use_native_aio", "ON"),),
    )


RULE = Rule(
    id="INNO026",
    title="Native asynchronous I/O is on",
    topic="writing",
    check=check,
    source="MySQL 8.0 manual, 15.8.6 (2023); MySQL/ZFS Performance Update (Percona, 2018)",
    good={"setting.innodb_use_native_aio": "ON"},
    bad={"setting.innodb_use_native_aio": "OFF"},
)
