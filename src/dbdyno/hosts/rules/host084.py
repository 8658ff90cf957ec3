"""HOST084: the kernel damages files on ext4

What it checks: the kernel is not 6.1.64 or 6.1.65 while data or log lie on ext4.

Why it matters: in these two releases a direct write that extends a file was done at a wrong place: data was corrupted
on disk, silently.

Remedy: 6.1.66 or later, then check the data (checksums of the server).

Risk: a reboot.

References: Debian bug 1057843 (December 2023), which held back the release of Debian 12.3. Distributions number their
builds apart: Debian's 6.1.64-1 was the affected one.
"""

from dbdyno.hosts.rules._devices import ROLES
from dbdyno.hosts.rules._fixes import manual
from dbdyno.hosts.rules._sources import cite
from dbdyno.hosts.tree import ABSENT
from dbdyno.model.fact import Scalar
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Needs, Severity
from dbdyno.model.rule import Rule

_SERIES, _BAD = 6.001, (64, 65)


def _patch(facts: Facts) -> float:
    """Debian's release name hides the patch, which stands in the build: `#1 SMP … Debian 6.1.64-1 (2023-11-30)`."""
    build, patch = facts.text("host.kernel_build"), facts.number("host.kernel_patch")
    for word in build.split() if build != ABSENT else ():
        if word.startswith("6.1.") and (number := word.split("-")[0].split(".")[2]).isdigit():
            return float(number)
    return patch


def check(facts: Facts) -> Finding | None:
    patch, kinds = _patch(facts), [facts.text(f"host.{role}.filesystem") for role in ROLES]
    if patch not in _BAD or "ext4" not in kinds:
        return None
    return Finding(
        says=f"Linux 6.1.{patch:g} corrupts files on ext4 that are extended by direct writes.",
        severity=Severity.CRITICAL,
        fixes=(manual("Linux 6.1.66 or later", needs=Needs.REBOOT),),
        verify="uname -v",
    )


_HOST: dict[str, Scalar] = {"host.kernel_version": 6.001, "host.data.filesystem": "ext4", "host.log.filesystem": "ext4"}
RULE = Rule(
    id="HOST084",
    title="The kernel has no known fault that damages files",
    topic="durability",
    check=check,
    applies=lambda facts: facts.number("host.kernel_version") == _SERIES,
    source=cite("Debian bug 1057843 (2023)"),
    good={**_HOST, "host.kernel_patch": 0, "host.kernel_build": "#1 SMP Debian 6.1.128-1 (2025-02-07)"},
    bad={**_HOST, "host.kernel_patch": 0, "host.kernel_build": "#1 SMP Debian 6.1.64-1 (2023-11-30)"},
)
