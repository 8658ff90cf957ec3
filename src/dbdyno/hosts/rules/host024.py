"""HOST024: processors run far below their nominal clock under load

What it checks: while the machine is busy (half of its processors' time), the median clock is at least 70 percent of
the nominal one.

Why it matters: heat, a power limit or a setting of the firmware halves the speed, and nothing in the system says so.

Remedy: look at the firmware's power profile, at temperatures and fans, and at the governor.

Risk: none in looking.

References: 1200 MHz of 2.40 GHz seen on an idle governor (2013); an idle machine may clock down, so only a busy one
is judged.
"""

from dbdyno.hosts.rules._fixes import manual
from dbdyno.hosts.rules._sources import cite
from dbdyno.hosts.tree import ABSENT
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule

_SHARE, _BUSY = 0.7, 0.5


def check(facts: Facts) -> Finding | None:
    now, nominal = facts.number("host.frequency_now_mhz"), facts.number("host.frequency_nominal_mhz")
    busy = facts.number("host.now.busy_ratio")
    if busy < _BUSY or now >= _SHARE * nominal:
        return None
    return Finding(
        says=f"Under load the processors run at {now:g} MHz, nominal are {nominal:g} MHz.",
        severity=Severity.WARNING,
        fixes=(manual("power profile of the firmware, temperature, governor"),),
        verify="grep MHz /proc/cpuinfo under load",
    )


RULE = Rule(
    id="HOST024",
    title="Processors reach their clock under load",
    topic="processor",
    check=check,
    applies=lambda facts: (
        not {facts.value("host.frequency_now_mhz"), facts.value("host.frequency_nominal_mhz")} & {ABSENT}
    ),
    source=cite("linux-2013"),
    good={"host.frequency_now_mhz": 2900, "host.frequency_nominal_mhz": 2400, "host.now.busy_ratio": 0.9},
    bad={"host.frequency_now_mhz": 1200, "host.frequency_nominal_mhz": 2400, "host.now.busy_ratio": 0.9},
)
