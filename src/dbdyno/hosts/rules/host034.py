"""HOST034: every read of a file is written down

What it checks: data and log are mounted with noatime; relatime passes on file systems under which the files are few
and large, which is how servers use them, so only strictatime is a finding.

Why it matters: with strict access times each read of a file changes its inode, which must be written.

Remedy: remount with noatime and put it into /etc/fstab.

Risk: programs that look at access times (some mail readers, tmp cleaners) see old ones.

References: articles of 2013, 2016 and 2021 ask for noatime. They were written against the strict default of old
kernels; relatime, the default since Linux 2.6.30 (2009), writes one access a day and is no finding. mount(8).
"""

from dbdyno.hosts.rules._devices import points, roles
from dbdyno.hosts.rules._fixes import mount
from dbdyno.hosts.rules._sources import cite
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    times = {role: facts.text(f"host.{role}.atime") for role in roles(facts)}
    strict = [role for role, word in times.items() if word == "strictatime"]
    if not strict:
        return None
    return Finding(
        says=f"Access times are written for each read on {points(facts, strict)}.",
        severity=Severity.ADVICE,
        fixes=tuple(mount(facts, role, "atime", "noatime") for role in strict),
        verify="the mount's line in /proc/self/mountinfo has noatime",
    )


RULE = Rule(
    id="HOST034",
    title="Reads are not written down",
    topic="disk",
    check=check,
    source=cite("linux-2013", "linux-2016", "zfs-2021", "mount(8), Linux manual page (2024)"),
    good={"host.data.mount_point": "/", "host.log.mount_point": "/", "host.data.atime": "noatime"},
    bad={"host.data.mount_point": "/", "host.log.mount_point": "/", "host.data.atime": "strictatime"},
)
