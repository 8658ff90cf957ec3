"""VK029: Snapshots have no checksum

What it checks: rdbchecksum is yes.

Why it matters: damage on the disk or on the way to a replica is loaded without a word.

Remedy: rdbchecksum yes in the file, and a restart.

Risk: about a tenth more time to write and load.

References: valkey.conf 8.0, rdbchecksum (2024).
"""

from dbdyno.engines.valkey.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    if facts.flag("setting.rdbchecksum"):
        return None
    return Finding(
        says="rdbchecksum is no: a damaged snapshot is loaded as if it were whole.",
        fixes=(setting(facts, "rdbchecksum", "yes"),),
    )


RULE = Rule(
    id="VK029",
    title="Snapshots have a checksum",
    topic="durability",
    check=check,
    source="valkey.conf 8.0, rdbchecksum (2024)",
    good={"setting.rdbchecksum": "yes"},
    bad={"setting.rdbchecksum": "no"},
)
