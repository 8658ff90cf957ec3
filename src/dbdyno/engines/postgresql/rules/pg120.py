"""PG120: Settings wait for a restart

What it checks: No changed setting waits for a restart.

Why it matters: The server runs with other values than its files say; the next restart, planned or not, changes its
behaviour.

Remedy: Restart in a quiet hour, or take the change back.

Risk: A restart.

References: PostgreSQL 15 manual, pg_settings, pending_restart (2022)
"""

from dbdyno.engines.postgresql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    count, examples = facts.number("server.pending_restart_count"), facts.text("server.pending_restart_examples")
    if not count:
        return None
    return Finding(
        says=f"{count:.0f} settings wait for a restart: {examples}.",
        fixes=(by_hand("restart", "pg_ctl restart -D DATA_DIRECTORY # or the service's command"),),
    )


RULE = Rule(
    id="PG120",
    title="The files say what the server runs with",
    topic="configuration",
    check=check,
    source="PostgreSQL 15 manual, pg_settings (2022)",
    good={"server.pending_restart_count": 0, "server.pending_restart_examples": ""},
    bad={"server.pending_restart_count": 1, "server.pending_restart_examples": "shared_buffers"},
)
