"""HOST074: the machine has nearly all its files open

What it checks: less than 80 percent of fs.file-max are in use (fs.file-nr).

Why it matters: at the limit nobody can open anything: also no shell to repair it.

Remedy: double fs.file-max until it fits.

Risk: about a kilobyte of kernel memory for each open file.

References: kernel, admin-guide/sysctl/fs.rst (2024); limits: article of 2016.
"""

from dbdyno.hosts.rules._sources import cite
from dbdyno.hosts.rules._sysctl import Wanted
from dbdyno.model.fact import Scalar
from dbdyno.model.facts import Facts, MissingFact
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule

_SHARE, _KEY = 0.8, "fs.file-max"


def _used(facts: Facts) -> float:
    """The first of three numbers."""
    words = facts.text("host.sysctl.fs.file-nr").split()
    if not words or not words[0].isdigit():
        raise MissingFact("host.sysctl.fs.file-nr", f"not three numbers: {words}")
    return float(words[0])


def _target(facts: Facts) -> int:
    most = max(65536, int(facts.number(f"host.sysctl.{_KEY}")))
    while _used(facts) > most / 2:
        most *= 2
    return most


def _fits(facts: Facts, value: Scalar) -> bool:
    return _used(facts) < _SHARE * float(str(value))


WANTED = (Wanted(_KEY, _fits, _target),)


def check(facts: Facts) -> Finding | None:
    most, used = facts.number(f"host.sysctl.{_KEY}"), _used(facts)
    if _fits(facts, most):
        return None
    return Finding(
        says=f"{used:g} of {most:g} files are open on the machine.",
        severity=Severity.CRITICAL,
        fixes=(WANTED[0].fix(facts),),
    )


RULE = Rule(
    id="HOST074",
    title="The machine has room for more open files",
    topic="limits",
    check=check,
    source=cite("linux-2016", "kernel, admin-guide/sysctl/fs.rst (2024)"),
    good={"host.sysctl.fs.file-max": 800000, "host.sysctl.fs.file-nr": "2208\t0\t800000"},
    bad={"host.sysctl.fs.file-max": 8192, "host.sysctl.fs.file-nr": "8000\t0\t8192"},
)
