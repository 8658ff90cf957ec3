"""HOST094: the server's limits are lower after its next start

What it checks: where the server is a unit of systemd and its files set a limit on open files or processes, that limit
is enough, as the present one is.

Why it matters: a limit that somebody raised on the running process (prlimit), or in a file that was changed since, is
back at the next start, which comes with the next update.

Remedy: the limit in a drop-in of the unit.

Risk: none: nothing changes now.

References: limits need a restart from a place that has them (2016); systemd.exec(5). A unit that says nothing leaves
it to the defaults of systemd, and many servers then raise the limit themselves: that is not judged.
"""

from dbdyno.hosts.rules._fixes import kept_limit
from dbdyno.hosts.rules._limits import files_needed, files_target, threads_needed, threads_target
from dbdyno.hosts.rules._sizes import limit
from dbdyno.hosts.rules._sources import cite
from dbdyno.hosts.tree import ABSENT
from dbdyno.model.fact import Scalar
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule

_KINDS = {"nofile": (files_needed, files_target), "nproc": (threads_needed, threads_target)}


def _of_unit(value: Scalar) -> float:
    """Limits of systemd: a number, `soft:hard`, or `infinity`; what it is not says nothing."""
    word = str(value).partition(":")[0]
    return float(word) if word.isdigit() else float("inf")


def check(facts: Facts) -> Finding | None:
    values = {
        name: (limit(facts, f"host.server.limit.{name}"), facts.value(f"host.boot.limit.{name}")) for name in _KINDS
    }
    lost = {
        name: (now, later)
        for name, (now, later) in values.items()
        if later != ABSENT and _of_unit(later) < _KINDS[name][0](facts) <= now
    }
    if not lost:
        return None
    what = ", ".join(f"{name} is {now:g} and will be {later}" for name, (now, later) in lost.items())
    return Finding(
        says=f"After its next start the server has lower limits: {what}.",
        severity=Severity.WARNING,
        fixes=tuple(kept_limit(facts, name, str(_KINDS[name][1](facts))) for name in lost),
        verify="systemctl show <unit> -p LimitNOFILE -p LimitNPROC",
    )


_NOW: dict[str, Scalar] = {"host.server.unit": "db.service", "host.server.limit.nofile": 64000,
                           "host.server.limit.nproc": 64000, "host.boot.limit.nproc": "64000"}  # fmt: skip
RULE = Rule(
    id="HOST094",
    title="The server's limits hold after its next start",
    topic="limits",
    check=check,
    applies=lambda facts: facts.value("host.server.unit") != ABSENT,
    source=cite("linux-2016", "systemd.exec(5) (2024)"),
    good={**_NOW, "host.boot.limit.nofile": "64000"},
    bad={**_NOW, "host.boot.limit.nofile": "1024", "host.server.limit.nofile_max": 64000, "host.server.pid": 7},
)
