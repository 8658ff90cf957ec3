"""PG113: Connections over the network are not encrypted

What it checks: Where the server listens to other machines, TLS is on, pg_hba.conf asks for it, and nobody is connected
without it.

Why it matters: Data and queries can be read and changed on the way.

Remedy: Set ssl = on with a certificate, and write hostssl in pg_hba.conf.

Risk: Clients that cannot do TLS are turned away by hostssl; a little processor time.

References: PostgreSQL 15 manual, section 19.9 (2022)
"""

from dbdyno.engines.postgresql.rules._listen import is_remote
from dbdyno.engines.postgresql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    on, listens = facts.flag("setting.ssl"), facts.text("setting.listen_addresses")
    lines = facts.number("security.hba_remote_plain_count")
    sessions = facts.number("status.connections_remote_plain")
    if not is_remote(listens) or (on and not sessions) or not (lines or sessions):
        return None
    return Finding(
        says=f"ssl is {'on' if on else 'off'}; {lines:.0f} lines of pg_hba.conf take plain connections from other "
        f"machines, {sessions:.0f} are there now.",
        fixes=(by_hand("ssl", "ALTER SYSTEM SET ssl = on; -- with ssl_cert_file and ssl_key_file, then reload"),),
    )


RULE = Rule(
    id="PG113",
    title="Connections over the network are encrypted",
    topic="security",
    check=check,
    source="PostgreSQL 15 manual, 19.9 (2022)",
    good={
        "setting.ssl": "on",
        "setting.listen_addresses": "*",
        "security.hba_remote_plain_count": 0,
        "status.connections_remote_plain": 0,
    },
    bad={
        "setting.ssl": "off",
        "setting.listen_addresses": "*",
        "security.hba_remote_plain_count": 1,
        "status.connections_remote_plain": 0,
    },
)
