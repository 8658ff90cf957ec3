"""MONGO060: everybody may do everything

What it checks: security.authorization is enabled, or a key file is given, which implies it.

Why it matters: without it everybody who reaches the port reads, writes and drops everything.

Remedy: Make an administrator first, then enable it and restart, member by member (transitionToAuth).

Risk: clients without a user are turned away.

References: MongoDB manual, Security Checklist (2024)
"""

from dbdyno.engines.wiredtiger.rules._setting import by_hand, remote, setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    key = facts.text("setting.security.keyFile")
    if facts.text("setting.security.authorization") == "enabled" or key:
        return None
    away = remote(facts)
    member = facts.has("setting.replication.replSetName") and facts.text("setting.replication.replSetName") != ""
    # A member of a set does not start with authorisation and without a key.
    commands = "openssl rand -base64 756 > KEY; chmod 400 KEY # the same on all members, then security.keyFile: KEY"
    fix = by_hand("security.keyFile", commands) if member else setting(facts, "security.authorization", "enabled")
    return Finding(
        says="Authorisation is off"
        + (f", and the server listens on {facts.text('setting.net.bindIp')}." if away else "."),
        severity=Severity.CRITICAL if away else Severity.WARNING,
        fixes=(fix,),
    )


RULE = Rule(
    id="MONGO060",
    title="Users prove who they are",
    topic="security",
    check=check,
    source="MongoDB manual, Security Checklist (2024)",
    good={"setting.security.authorization": "enabled", "setting.security.keyFile": ""},
    bad={
        "setting.security.authorization": "disabled",
        "setting.security.keyFile": "",
        "setting.net.bindIp": "0.0.0.0",
        "setting.net.bindIpAll": "false",
    },
)
