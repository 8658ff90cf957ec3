"""HOST057: quiet replication connections start slowly each time

What it checks: net.ipv4.tcp_slow_start_after_idle is 0 on a machine whose server has a replication role.

Why it matters: after a pause of a fraction of a second a connection forgets how fast the line is; each burst to a
replica over a long line then starts with a few packets.

Remedy: 0.

Risk: bursts on a line that became worse meanwhile lose packets.

References: kernel, networking/ip-sysctl.rst (2024); no article of those collected measures it: advice only.
"""

from dbdyno.hosts.rules._sources import cite
from dbdyno.hosts.rules._sysctl import Wanted
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule

_KEY = "net.ipv4.tcp_slow_start_after_idle"


def _replica(facts: Facts) -> bool:
    return facts.has("server.role") and facts.text("server.role") == "replica"


WANTED = (Wanted(_KEY, lambda facts, value: str(value) == "0" or not _replica(facts), lambda _: 0),)


def check(facts: Facts) -> Finding | None:
    on = facts.number(f"host.sysctl.{_KEY}") != 0
    if not on or facts.text("server.role") != "replica":
        return None
    says = f"{_KEY} is on: each burst of replication starts slowly."
    return Finding(says=says, severity=Severity.ADVICE, fixes=(WANTED[0].fix(facts),))


RULE = Rule(
    id="HOST057",
    title="Replication keeps its speed over pauses",
    topic="network",
    check=check,
    applies=lambda facts: facts.text("server.role") == "replica",
    source=cite("kernel, networking/ip-sysctl.rst (2024)"),
    good={f"host.sysctl.{_KEY}": 0, "server.role": "replica"},
    bad={f"host.sysctl.{_KEY}": 1, "server.role": "replica"},
)
