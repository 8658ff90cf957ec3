"""MY065: A password lies open in an option file

What it checks: no option file that everybody may read holds a password.

Why it matters: every account of the machine can be that user of the server.

Remedy: chmod 600 (640 with the group of the server), or mysql_config_editor and unix_socket in its place.

Risk: programs of other accounts that read the file lose its settings.

References: MySQL 8.0 manual, 6.1.2.1 (2023).
"""

from dbdyno.engines._mysql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    files = facts.text("security.config_secret_world_readable")
    if not files:
        return None
    return Finding(
        says=f"Everybody on the machine can read a password in {files}.",
        severity=Severity.CRITICAL,
        fixes=(by_hand("config", f"chmod o-rwx {files}"),),
    )


RULE = Rule(
    id="MY065",
    title="Option files with passwords are closed",
    topic="security",
    check=check,
    source="MySQL 8.0 manual, 6.1.2.1 (2023)",
    good={"security.config_secret_world_readable": ""},
    bad={"security.config_secret_world_readable": "/etc/mysql/my.cnf"},
)
