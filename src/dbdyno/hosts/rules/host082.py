"""HOST082: SELinux watches and does not protect

What it checks: where SELinux is there it enforces; where it is not, AppArmor or nothing is as the distribution has
it.

Why it matters: in permissive mode a server that was broken into may read every file of its user and start anything.

Remedy: setenforce 1 after the log shows no more denials; SELINUX=enforcing in /etc/selinux/config.

Risk: a server with folders in unusual places is stopped by a missing label: look at /var/log/audit/audit.log first.

References: Enforcing (2016), against the many guides that switch it off. selinux(8).
"""

from dbdyno.hosts.rules._fixes import manual
from dbdyno.hosts.rules._sources import cite
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    if facts.text("host.selinux") != "permissive":
        return None
    return Finding(
        says="SELinux is permissive: it writes down what it would have stopped.",
        severity=Severity.ADVICE,
        fixes=(manual("setenforce 1; SELINUX=enforcing", undo="setenforce 0; SELINUX=permissive"),),
        verify="getenforce says Enforcing",
    )


RULE = Rule(
    id="HOST082",
    title="SELinux enforces where it is",
    topic="security",
    check=check,
    source=cite("linux-2016", "selinux(8) (2024)"),
    good={"host.selinux": "enforcing"},
    bad={"host.selinux": "permissive"},
)
