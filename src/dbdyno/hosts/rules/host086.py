"""HOST086: other large programs share the machine

What it checks: no other program holds 5 percent of memory or more, and no second server of the same kind runs.

Why it matters: sizes that are shares of memory hold for one server alone. Two that each take half leave nothing for
the system; a backup or a search index beside them brings the swapping.

Remedy: give each a fixed size so that the sum fits, or a machine of its own.

Risk: a smaller cache reads more from the disk.

References: several servers on one host: article of 2021; backup jobs beside the server: 2013.
"""

from dbdyno.hosts.rules._fixes import manual
from dbdyno.hosts.rules._sizes import GIB, size
from dbdyno.hosts.rules._sources import cite
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    held, names = facts.number("host.neighbours_bytes"), facts.text("host.neighbours")
    twins = facts.number("host.twins") if facts.has("host.twins") else 0.0
    if not held and not twins:
        return None
    parts = [f"{names} hold {size(held)}"] if held else []
    parts += [f"{twins:g} more servers of the same kind run"] if twins else []
    return Finding(
        says=f"The server is not alone: {'; '.join(parts)}.",
        severity=Severity.ADVICE,
        fixes=(manual("fixed sizes whose sum fits, or machines of their own"),),
        verify="ps -eo rss,comm --sort -rss",
    )


RULE = Rule(
    id="HOST086",
    title="The server has the machine to itself",
    topic="memory",
    check=check,
    source=cite("memory-2021", "swap-2013"),
    good={"host.neighbours_bytes": 0, "host.neighbours": ""},
    bad={"host.neighbours_bytes": 6 * GIB, "host.neighbours": "java"},
)
