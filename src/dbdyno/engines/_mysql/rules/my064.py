"""MY064: Connections over the network are not encrypted

What it checks: where the server listens beyond this machine, it has a certificate (have_ssl, or ssl_cert with
tls_version).

Why it matters: passwords, statements and rows can be read and changed on the way.

Remedy: ssl_cert, ssl_key and ssl_ca; then REQUIRE SSL for the accounts of the network, or require_secure_transport.

Risk: clients that cannot encrypt are refused only when you require it.

References: MySQL 8.0 manual, 6.3.1 (2023); MariaDB manual, Secure Connections (2024): 11.4 makes a certificate by
itself.
"""

from dbdyno.engines._mysql.rules._setting import by_hand, exists
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    local = facts.text("setting.bind_address") in ("127.0.0.1", "::1", "localhost") or facts.flag(
        "setting.skip_networking"
    )
    if exists(facts, "have_ssl"):
        encrypts = facts.text("setting.have_ssl").upper() == "YES"
    else:
        encrypts = facts.text("setting.ssl_cert") != ""
    if local or encrypts:
        return None
    return Finding(
        says=f"The server listens on {facts.text('setting.bind_address') or 'all addresses'} and has no certificate.",
        fixes=(by_hand("ssl_cert", "[server] ssl_cert = …, ssl_key = …, ssl_ca = …; then restart"),),
    )


RULE = Rule(
    id="MY064",
    title="Connections over the network can be encrypted",
    topic="security",
    check=check,
    source="MySQL 8.0 manual, 6.3.1 (2023); MariaDB manual (2024)",
    good={"setting.have_ssl": "YES", "setting.bind_address": "*", "setting.skip_networking": "OFF"},
    bad={"setting.have_ssl": "DISABLED", "setting.bind_address": "*", "setting.skip_networking": "OFF"},
)
