"""HOST081: two programs set the clock

What it checks: only one program that keeps the clock right runs.

Why it matters: each corrects what the other did: the clock swings, and time stamps go back.

Remedy: keep one (chronyd where there is a choice) and disable the others; switch off the clock of the guest tools.

Risk: none known.

References: must not fight the hypervisor's tools (2016). Programs that work together (ptp4l with phc2sys) count as
one.
"""

from dbdyno.hosts.rules._fixes import manual
from dbdyno.hosts.rules._sources import cite
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule

_TOGETHER = {"phc2sys": "ptp4l", "systemd-timesyn": "systemd-timesyncd"}


def check(facts: Facts) -> Finding | None:
    running = {_TOGETHER.get(name, name) for name in facts.text("host.time_daemons").split()}
    if len(running) < 2:
        return None
    return Finding(
        says=f"{' and '.join(sorted(running))} set the clock at the same time.",
        severity=Severity.WARNING,
        fixes=(manual("keep one of them"),),
        verify="ps shows one of them",
    )


RULE = Rule(
    id="HOST081",
    title="One program sets the clock",
    topic="surroundings",
    check=check,
    source=cite("linux-2016"),
    good={"host.time_daemons": "chronyd"},
    bad={"host.time_daemons": "chronyd ntpd"},
)
