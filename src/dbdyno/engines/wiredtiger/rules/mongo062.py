"""MONGO062: certificates are not checked

What it checks: net.tls.allowInvalidCertificates is false.

Why it matters: anybody with any certificate is let in, or between.

Remedy: Give all members and clients certificates of one authority, then take the line out.

Risk: those with a bad certificate are turned away.

References: MongoDB manual, Configuration File Options (2024)
"""

from dbdyno.engines.wiredtiger.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    if not facts.flag("setting.net.tls.allowInvalidCertificates"):
        return None
    return Finding(
        says="net.tls.allowInvalidCertificates is true: encrypted, but with whom is not known.",
        fixes=(setting(facts, "net.tls.allowInvalidCertificates", "false"),),
    )


RULE = Rule(
    id="MONGO062",
    title="Certificates are checked",
    topic="security",
    check=check,
    source="MongoDB manual, Configuration File Options (2024)",
    good={"setting.net.tls.allowInvalidCertificates": "false"},
    bad={"setting.net.tls.allowInvalidCertificates": "true"},
)
