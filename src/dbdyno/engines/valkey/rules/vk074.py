"""VK074: Commands for developers are open

What it checks: enable-debug-command, enable-module-command and enable-protected-configs are no (or local).

Why it matters: DEBUG can crash the server, MODULE LOAD runs any library as the server's user, protected settings name
its files.

Remedy: no in the file, and a restart.

Risk: programs that use them are refused.

References: redis.conf 7.0, enable-…-command (2022).
"""

from dbdyno.engines.valkey.rules._setting import exists, setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule

NAMES = ("enable-debug-command", "enable-module-command", "enable-protected-configs")


def check(facts: Facts) -> Finding | None:
    words = {name: facts.text(f"setting.{name}") for name in NAMES}
    opened = [name for name, word in words.items() if word == "yes"]
    if not opened:
        return None
    return Finding(
        says=f"Open to every account that has the command: {', '.join(opened)}.",
        fixes=tuple(setting(facts, name, "no") for name in opened),
    )


RULE = Rule(
    id="VK074",
    title="Commands for developers are closed",
    topic="security",
    check=check,
    source="redis.conf 7.0 (2022)",
    applies=lambda facts: exists(facts, "enable-debug-command"),
    good={
        "setting.enable-debug-command": "no",
        "setting.enable-module-command": "no",
        "setting.enable-protected-configs": "no",
    },
    bad={
        "setting.enable-debug-command": "yes",
        "setting.enable-module-command": "no",
        "setting.enable-protected-configs": "no",
    },
)
