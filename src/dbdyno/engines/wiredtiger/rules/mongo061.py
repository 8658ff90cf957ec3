"""MONGO061: connections from elsewhere are not encrypted

What it checks: net.tls.mode is requireTLS (net.ssl.mode before 4.2) where other machines can connect.

Why it matters: SCRAM hides the password, not the data.

Remedy: Certificates, then allowTLS, preferTLS, requireTLS in turn, so that clients can follow.

Risk: clients without TLS are turned away at the end.

References: MongoDB manual, Configure mongod for TLS/SSL (2024)
"""

from dbdyno.engines.wiredtiger.rules._setting import by_hand, remote
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    name = "setting.net.ssl.mode" if facts.has("setting.net.ssl.mode") else "setting.net.tls.mode"
    mode, away = facts.text(name), remote(facts)
    if mode in ("requireTLS", "requireSSL") or not away:
        return None
    return Finding(
        says=f"{name.removeprefix('setting.')} is {mode}, and other machines can connect.",
        fixes=(
            by_hand("net.tls.mode", "// net.tls.certificateKeyFile, net.tls.CAFile and net.tls.mode in mongod.conf"),
        ),
    )


RULE = Rule(
    id="MONGO061",
    title="Connections from elsewhere are encrypted",
    topic="security",
    check=check,
    source="MongoDB manual, Configure mongod for TLS/SSL (2024)",
    good={"setting.net.tls.mode": "requireTLS", "setting.net.bindIp": "0.0.0.0", "setting.net.bindIpAll": "false"},
    bad={"setting.net.tls.mode": "disabled", "setting.net.bindIp": "0.0.0.0", "setting.net.bindIpAll": "false"},
)
