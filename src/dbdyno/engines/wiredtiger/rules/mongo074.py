"""MONGO074: it is no MongoDB

What it checks: the server is MongoDB or a build of it, not another that speaks its protocol.

Why it matters: what is said here of WiredTiger, the journal and replica sets does not hold for a server that stores
its documents elsewhere.

Remedy: Look at the server under it (often PostgreSQL) instead.

Risk: none.

References: FerretDB documentation (2024); MongoDB manual, buildInfo (2024)
"""

from dbdyno.engines.wiredtiger.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    if facts.text("server.flavour") != "imitation":
        return None
    return Finding(
        says="This server speaks MongoDB's protocol and is none: only the connection can be judged here.",
        severity=Severity.ADVICE,
        fixes=(by_hand("server", "// check the database under it"),),
    )


RULE = Rule(
    id="MONGO074",
    title="It is a MongoDB server",
    topic="version",
    check=check,
    source="MongoDB manual, buildInfo (2024)",
    good={"server.flavour": "mongodb"},
    bad={"server.flavour": "imitation"},
)
