"""HOST070: the server may open too few files

What it checks: the server's limit on open files covers what it needs: what the server says it may need by its
settings (a file for each connection and each table), otherwise 16384; never `unlimited`.

Why it matters: at the limit connections are refused and tables cannot be opened, under load and not before. A limit
without end makes some programs that close "all" descriptors at their start hang for minutes.

Remedy: 64000, or the need with half of it again, in the server's unit; it holds from its next start.

Risk: none known.

References: 64000, computed from clients and pools, and not unlimited (2016); systemd.exec(5).
"""

from dbdyno.hosts.rules._fixes import limit as limit_fix
from dbdyno.hosts.rules._limits import ENDLESS, files_needed, files_target
from dbdyno.hosts.rules._sizes import limit
from dbdyno.hosts.rules._sources import cite
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    now, hard = limit(facts, "host.server.limit.nofile"), limit(facts, "host.server.limit.nofile_max")
    _pid = facts.value("host.server.pid")
    known = facts.has("server.files_needed")
    need = files_needed(facts)
    if need <= now <= ENDLESS:
        return None
    says = f"The server may open {now:g} files and may need {need:g}" + (" by its settings." if known else ".")
    if now > ENDLESS:
        says = "The server's number of open files has no limit, with which some programs hang at their start."
    return Finding(
        says=says,
        why="" if now <= hard else "The hard limit is lower still.",
        severity=Severity.WARNING if known and now < need else Severity.ADVICE,
        fixes=(limit_fix(facts, "nofile", str(files_target(facts))),),
    )


RULE = Rule(
    id="HOST070",
    title="The server may open all the files that it needs",
    topic="limits",
    check=check,
    source=cite("linux-2016", "systemd.exec(5) (2024)"),
    good={"host.server.limit.nofile": 64000, "host.server.limit.nofile_max": 64000, "host.server.pid": 7},
    bad={"host.server.limit.nofile": 1024, "host.server.limit.nofile_max": 4096, "host.server.pid": 7},
)
