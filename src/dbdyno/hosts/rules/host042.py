"""HOST042: asynchronous requests to disks run out

What it checks: fs.aio-nr stays below 80 percent of fs.aio-max-nr, and the limit is not below the kernel's 65536.

Why it matters: all servers on the machine share it. The next one that starts gets none and falls back to slower ways,
or does not start.

Remedy: 1048576. It costs memory only where it is used.

Risk: none known.

References: kernel, admin-guide/sysctl/fs.rst (2024).
"""

from dbdyno.hosts.rules._sources import cite
from dbdyno.hosts.rules._sysctl import Wanted
from dbdyno.model.fact import Scalar
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule

_SHARE, _LEAST, _TARGET = 0.8, 65536, 1 << 20


def _fits(facts: Facts, value: Scalar) -> bool:
    most = float(str(value))
    return most >= _LEAST and facts.number("host.sysctl.fs.aio-nr") < _SHARE * most


def _target(facts: Facts) -> int:
    """Doubled from there on, while more than half of it is used."""
    target = _TARGET
    while facts.number("host.sysctl.fs.aio-nr") > target / 2:
        target *= 2
    return target


WANTED = (Wanted("fs.aio-max-nr", _fits, _target),)


def check(facts: Facts) -> Finding | None:
    most, used = facts.number("host.sysctl.fs.aio-max-nr"), facts.number("host.sysctl.fs.aio-nr")
    if _fits(facts, most):
        return None
    return Finding(
        says=f"{used:g} of {most:g} asynchronous requests are taken.",
        severity=Severity.WARNING,
        fixes=(WANTED[0].fix(facts),),
    )


RULE = Rule(
    id="HOST042",
    title="There are enough asynchronous requests for all servers",
    topic="limits",
    check=check,
    source=cite("kernel, admin-guide/sysctl/fs.rst (2024)"),
    good={"host.sysctl.fs.aio-max-nr": 65536, "host.sysctl.fs.aio-nr": 2661},
    bad={"host.sysctl.fs.aio-max-nr": 65536, "host.sysctl.fs.aio-nr": 65000},
)
