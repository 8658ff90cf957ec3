"""HOST087: the C library is old

What it checks: glibc 2.28 or later, where its version can be seen.

Why it matters: besides missing repairs: from 2.28 on text sorts differently. A database whose indexes were built
under an older one has to rebuild them after the move, and a replica must not run on the other side of that line.

Remedy: a supported release of the distribution; plan the rebuilding of indexes on text.

Risk: indexes on text that are not rebuilt give wrong answers.

References: 2.13 at least (2016); the change of sort order in 2.28 (glibc release notes, 2018).
"""

from dbdyno.hosts.rules._fixes import manual
from dbdyno.hosts.rules._sources import cite
from dbdyno.hosts.tree import ABSENT
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Needs, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    version = facts.text("host.glibc")
    if tuple(int(part) for part in version.split(".")) >= (2, 28):
        return None
    return Finding(
        says=f"glibc is {version}, from before the change of sort order in 2.28.",
        severity=Severity.ADVICE,
        fixes=(manual("a supported release of the distribution", needs=Needs.REBOOT),),
        verify="ldd --version",
    )


RULE = Rule(
    id="HOST087",
    title="The C library is one that is maintained",
    topic="surroundings",
    check=check,
    applies=lambda facts: facts.value("host.glibc") != ABSENT,
    source=cite("linux-2016", "glibc 2.28 release notes (2018)"),
    good={"host.glibc": "2.36"},
    bad={"host.glibc": "2.17"},
)
