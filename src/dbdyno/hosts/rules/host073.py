"""HOST073: the server has nearly all its files open

What it checks: less than 80 percent of the server's limit on open files are in use.

Why it matters: at the limit the next connection or table fails.

Remedy: a higher limit, then a restart; and see whether connections or files leak.

Risk: none known.

References: "too many open files" (2016); proc(5).
"""

from dbdyno.hosts.rules._fixes import limit as limit_fix
from dbdyno.hosts.rules._limits import files_target
from dbdyno.hosts.rules._sizes import limit
from dbdyno.hosts.rules._sources import cite
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule

_SHARE = 0.8


def check(facts: Facts) -> Finding | None:
    now, used = limit(facts, "host.server.limit.nofile"), facts.number("host.server.open_files")
    _read = [facts.value(name) for name in ("host.server.limit.nofile_max", "host.server.pid")]
    if used < _SHARE * now:
        return None
    return Finding(
        says=f"The server has {used:g} of {now:g} files open.",
        severity=Severity.CRITICAL if used >= 0.95 * now else Severity.WARNING,
        fixes=(limit_fix(facts, "nofile", str(files_target(facts))),),
    )


_SERVER = {"host.server.limit.nofile": 64000, "host.server.limit.nofile_max": 64000, "host.server.pid": 7}
RULE = Rule(
    id="HOST073",
    title="The server has room for more open files",
    topic="limits",
    check=check,
    source=cite("linux-2016", "proc(5), Linux manual page (2024)"),
    good={**_SERVER, "host.server.open_files": 300},
    bad={**_SERVER, "host.server.open_files": 63000},
)
