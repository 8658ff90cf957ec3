"""VK004: The server runs without a configuration file

What it checks: the server was started with a file.

Why it matters: CONFIG REWRITE has nowhere to write: whatever is changed while it runs is lost with the next start.

Remedy: start it with a file, even an empty one, that its user may write: CONFIG REWRITE then keeps what runs.

Risk: a restart.

References: "Valkey/Redis Configurations and Persistent Setting of the Key Parameters" (2024); Valkey manual, CONFIG
REWRITE (2024).
"""

from dbdyno.engines.valkey.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    if facts.text("status.config_file"):
        return None
    return Finding(
        says="The server was started without a configuration file; CONFIG REWRITE cannot keep anything.",
        severity=Severity.ADVICE,
        fixes=(
            by_hand(
                "configuration file", "start the server with a file of its own: valkey-server /etc/valkey/valkey.conf"
            ),
        ),
    )


RULE = Rule(
    id="VK004",
    title="Changes can be kept in a file",
    topic="configuration",
    check=check,
    source="Valkey manual, CONFIG REWRITE (2024)",
    good={"status.config_file": "/etc/valkey/valkey.conf"},
    bad={"status.config_file": ""},
)
