"""HOST090: good settings of the kernel are gone after a reboot

What it checks: kernel parameters that are good now are still good after the next boot, as /etc/sysctl.conf, sysctl.d
and the kernel's defaults give them.

Why it matters: a setting that somebody made by hand holds until the next reboot, which comes at night.

Remedy: write the present values into a file of sysctl.d.

Risk: none: nothing changes now.

References: reboot once and verify everything (2016); sysctl.d(5). Which value is good is asked of the rule about that
parameter, so that the two cannot disagree; keys whose default differs from machine to machine are judged only when a
file sets them.
"""

import importlib
import pkgutil
from collections.abc import Iterator

import dbdyno.hosts.rules
from dbdyno.hosts.rules._fixes import kept
from dbdyno.hosts.rules._sources import cite
from dbdyno.hosts.rules._sysctl import Wanted
from dbdyno.hosts.tree import ABSENT
from dbdyno.model.fact import Scalar
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def _all_wanted() -> Iterator[Wanted]:
    for info in pkgutil.iter_modules(dbdyno.hosts.rules.__path__):
        if not info.name.startswith("_"):
            yield from getattr(importlib.import_module(f"dbdyno.hosts.rules.{info.name}"), "WANTED", ())


def _lost(facts: Facts, wanted: Wanted) -> bool:
    """Whether it is good now and will not be."""
    names = (wanted.fact, f"host.boot.sysctl.{wanted.key}")
    if any(facts.find(name) is None for name in names):
        return False
    now, later = (facts.value(name) for name in names)
    if ABSENT in (now, later) or (now == later and wanted.judges is None):
        return False
    return wanted.good(facts, "host.sysctl") and not wanted.good(facts, "host.boot.sysctl")


def _kept(facts: Facts, wanted: Wanted) -> Scalar:
    """What to write down: the value of now, or where that is another key's word, the one that the rule wants."""
    return wanted.target(facts) if wanted.judges and facts.number(wanted.fact) == 0 else facts.value(wanted.fact)


def check(facts: Facts) -> Finding | None:
    # Every machine has this one: where it was not read, nothing was.
    facts.value("host.boot.sysctl.vm.swappiness"), facts.value("host.sysctl.vm.swappiness")
    lost = [wanted for wanted in _all_wanted() if _lost(facts, wanted)]
    if not lost:
        return None
    pairs = [(one.key, facts.value(one.fact), facts.value(f"host.boot.sysctl.{one.key}")) for one in lost]
    what = ", ".join(f"{key} is {now} and will be {later}" for key, now, later in pairs)
    return Finding(
        says=f"After a reboot this is lost: {what}.",
        severity=Severity.WARNING,
        fixes=tuple(kept(facts, one.key, _kept(facts, one)) for one in lost),
        verify="sysctl --system changes none of them",
    )


RULE = Rule(
    id="HOST090",
    title="Good settings of the kernel survive a reboot",
    topic="surroundings",
    check=check,
    source=cite("linux-2016", "sysctl.d(5) (2024)"),
    good={"host.boot.sysctl.vm.swappiness": 1, "host.sysctl.vm.swappiness": 1},
    bad={"host.boot.sysctl.vm.swappiness": 60, "host.sysctl.vm.swappiness": 1, "host.kernel_version": 6.001},
)
