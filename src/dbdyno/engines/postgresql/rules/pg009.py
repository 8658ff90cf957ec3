"""PG009: The log is not archived

What it checks: archive_mode is on, and its command keeps something.

Why it matters: Backups can be rolled forward to a moment before a mistake only with every log file since. A command
that keeps nothing is worse than none: it looks like an archive.

Remedy: Set archive_mode = on with a command or library that copies each file safely elsewhere (pgBackRest, WAL-G,
Barman). A server whose data can be made again may do without.

Risk: An archive that fails keeps all log files on the server until its disk is full: watch pg_stat_archiver.

References: Tuning PostgreSQL for sysbench-tpcc (Percona, 2018) takes archiving for a need of replication; strictly it
is one of point-in-time recovery (PostgreSQL 15 manual, section 26.3 (2022)).
"""

from dbdyno.engines.postgresql.rules._setting import by_hand
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule

KEEPS_NOTHING = ("", "(disabled)", "/bin/true", "true", ":", "exit 0")


def check(facts: Facts) -> Finding | None:
    mode, command = facts.text("setting.archive_mode"), facts.text("setting.archive_command").strip()
    library = facts.has("setting.archive_library") and facts.text("setting.archive_library")
    if mode == "off":
        return Finding(
            says="archive_mode is off: no recovery to a point in time.",
            severity=Severity.ADVICE,
            fixes=(by_hand("archive_mode", "ALTER SYSTEM SET archive_mode = on; -- with a command, then restart"),),
        )
    if library or command not in KEEPS_NOTHING:
        return None
    return Finding(
        says=f"archive_mode is {mode}, but the command {command!r} keeps nothing: there is no archive.",
        severity=Severity.CRITICAL,
        fixes=(by_hand("archive_command", "ALTER SYSTEM SET archive_command = '… %p …'; SELECT pg_reload_conf();"),),
    )


RULE = Rule(
    id="PG009",
    title="The log is archived",
    topic="backup",
    check=check,
    source="PostgreSQL 15 manual, 26.3 (2022)",
    good={"setting.archive_mode": "on", "setting.archive_command": "pgbackrest archive-push %p"},
    bad={"setting.archive_mode": "on", "setting.archive_command": "/bin/true"},
)
