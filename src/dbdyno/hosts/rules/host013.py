"""HOST013: when memory is short, the server is killed first

What it checks: oom_score_adj of the server is at most -500 where it is not the only tenant of a limited control
group.

Why it matters: the kernel kills the process with the most memory, which is the server, even when something else took
what was missing.

Remedy: -800 for the server, in its unit (OOMScoreAdjust) and at once.

Risk: something else is killed instead: also a shell or a monitor. Not -1000: then a leak in the server itself hangs
the machine.

References: the article of 2023 gives -800. In a container with a limit of its own the score only orders the processes
inside, so it does not matter there. proc(5), systemd.exec(5).
"""

from dbdyno.hosts.rules._fixes import oom_score
from dbdyno.hosts.rules._sources import cite
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule

MOST, TARGET = -500, -800


def check(facts: Facts) -> Finding | None:
    score, _pid = facts.number("host.server.oom_score_adj"), facts.value("host.server.pid")
    if score <= MOST:
        return None
    return Finding(
        says=f"oom_score_adj of the server is {score:g}: it is the first to be killed when memory is short.",
        severity=Severity.ADVICE,
        fixes=(oom_score(facts, TARGET),),
    )


RULE = Rule(
    id="HOST013",
    title="The kernel spares the server when memory is short",
    topic="memory",
    check=check,
    applies=lambda facts: facts.value("host.group.limit_bytes") == "no limit",
    source=cite("basics-2023", "proc(5), Linux manual page (2024)"),
    good={"host.server.oom_score_adj": -800, "host.server.pid": 7, "host.group.limit_bytes": "no limit"},
    bad={"host.server.oom_score_adj": 0, "host.server.pid": 7, "host.group.limit_bytes": "no limit"},
)
