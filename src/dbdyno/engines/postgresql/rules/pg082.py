"""PG082: Lines of the log cannot be told apart

What it checks: log_line_prefix has the time and the process.

Why it matters: Without them lines of different sessions cannot be told apart, and no tool can read the log.

Remedy: '%m [%p] %q%u@%d ', close to the default.

Risk: Tools that parse the old prefix must learn the new one.

References: PostgreSQL 15 manual, section 20.8 (2022)
"""

from dbdyno.engines.postgresql.rules._setting import setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    prefix, destination = facts.text("setting.log_line_prefix"), facts.text("setting.log_destination")
    timed = any(word in prefix for word in ("%t", "%m", "%n")) or "syslog" in destination
    if (timed and any(word in prefix for word in ("%p", "%c"))) or "stderr" not in destination:
        return None
    return Finding(
        says=f"log_line_prefix is {prefix!r}: no time or no process in it.",
        fixes=(setting(facts, "log_line_prefix", "%m [%p] %q%u@%d "),),
    )


RULE = Rule(
    id="PG082",
    title="Lines of the log say when and who",
    topic="logging",
    check=check,
    source="PostgreSQL 15 manual, 20.8 (2022)",
    good={"setting.log_line_prefix": "%m [%p] ", "setting.log_destination": "stderr"},
    bad={"setting.log_line_prefix": "", "setting.log_destination": "stderr"},
)
