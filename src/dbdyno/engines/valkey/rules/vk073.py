"""VK073: Passwords and data cross the network in the clear

What it checks: a server that other machines may use is reached encrypted only.

Why it matters: the password is sent as it is, with everything else.

Remedy: tls-port with a certificate, port 0 when all programs use it; or a network that is encrypted itself.

Risk: encryption takes time of the threads; a build without TLS does not know tls-port.

References: Valkey manual, TLS (2024).
"""

from dbdyno.engines.valkey.rules._setting import by_hand, exists, protected
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    reachable, closed = facts.flag("security.reachable"), protected(facts)
    plain = facts.number("setting.port")
    # A build without encryption has no such port.
    encrypted = facts.number("setting.tls-port") if exists(facts, "tls-port") else 0
    if not reachable or closed or not plain:
        return None
    return Finding(
        says=f"Other machines connect to port {plain:.0f} without encryption"
        + (f"; port {encrypted:.0f} is encrypted." if encrypted else "."),
        severity=Severity.ADVICE if encrypted else Severity.WARNING,
        fixes=(by_hand("tls-port", "tls-port 6380, tls-cert-file …, tls-key-file …, then port 0"),),
    )


RULE = Rule(
    id="VK073",
    title="The network sees nothing",
    topic="security",
    check=check,
    source="Valkey manual, TLS (2024)",
    good={
        "security.reachable": True,
        "setting.protected-mode": "yes",
        "security.default_on": True,
        "security.default_nopass": False,
        "setting.tls-port": 6380,
        "setting.port": 0,
    },
    bad={
        "security.reachable": True,
        "setting.protected-mode": "yes",
        "security.default_on": True,
        "security.default_nopass": False,
        "setting.tls-port": 0,
        "setting.port": 6379,
    },
)
