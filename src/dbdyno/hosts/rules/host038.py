"""HOST038: data and log share a spinning disk

What it checks: the log does not lie on the same spinning disk as the data.

Why it matters: each commit moves the head away from where the data is being written, and back.

Remedy: another disk for the log, or better a solid-state one for both.

Risk: two disks can fail; a backup must hold both.

References: own volumes for data and journal (2016, 2018). On solid-state and virtual disks there is no head to move:
there it is a matter of measurement, not a finding.
"""

from dbdyno.hosts.rules._devices import ROLES
from dbdyno.hosts.rules._fixes import manual
from dbdyno.hosts.rules._sources import cite
from dbdyno.model.fact import Scalar
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    data, log = (facts.text(f"host.{role}.leaves").split() for role in ROLES)
    if facts.flag("host.virtual"):
        return None
    both = [one for one in data if one in log and len(data) == 1]
    spinning = [one for one in both if facts.flag(f"host.block.{one}.rotational")]
    if not spinning:
        return None
    return Finding(
        says=f"Data and log share one spinning disk ({spinning[0]}).",
        severity=Severity.ADVICE,
        fixes=(manual("put the log on a disk of its own"),),
        verify="df of both folders shows different disks",
    )


_DISK: dict[str, Scalar] = {"host.virtual": False, "host.data.leaves": "sda", "host.block.sda.rotational": True}
RULE = Rule(
    id="HOST038",
    title="The log has a disk to itself where heads move",
    topic="disk",
    check=check,
    source=cite("linux-2016", "tpcc-2018"),
    good={"host.virtual": False, "host.data.leaves": "sda", "host.log.leaves": "sdb"},
    bad={**_DISK, "host.log.leaves": "sda"},
)
