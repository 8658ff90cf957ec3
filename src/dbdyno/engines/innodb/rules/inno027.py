"""INNO027: Pages are flushed before the log is nearly full

What it checks: on MariaDB from 10.5.9 on, innodb_max_dirty_pages_pct_lwm is above 0 where the log is full within an
hour at its present rate.

Why it matters: 0, the default, is more than "no low-water mark" there. A page cleaner that went to sleep is woken
only by the share of dirty pages at innodb_max_dirty_pages_pct or by a log that is nearly full, so that adaptive
flushing does not begin at innodb_adaptive_flushing_lwm: nothing is written until 7/8 of the log are in use, and then
everything at once.

Remedy: 1, so that flushing begins when one page of a hundred is dirty and follows the log from then on; what the disk
can write is for innodb_io_capacity to say.

Risk: pages that are changed again and again are written more often.

References: MariaDB manual, "InnoDB Page Flushing" (2025): with 0 no background flushing until the share of dirty
pages or the checkpoint's age comes to its limit, a small value makes it more eager; MariaDB 10.11, comment in
buf_pool_t::page_cleaner_wakeup (2023): adaptive flushing is enabled where the mark is not 0. 10.5.7 and 10.5.8
flushed all the time. MySQL 8.0 manual, 17.14 (2024): the default is 10 there. The hour is our choice, and so is 1:
there are servers whose log is full with 3 % of their pages dirty.
"""

from dbdyno.engines._mysql import versions
from dbdyno.engines._mysql.memory import rocksdb_leads
from dbdyno.engines._mysql.rules._setting import MIB, setting
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.knob import Level
from dbdyno.model.rule import Rule

_SINCE = versions.MARIADB + 100509
_WITHIN_S = 3600.0
_MARK = 1


def check(facts: Facts) -> Finding | None:
    mark = facts.number("setting.innodb_max_dirty_pages_pct_lwm")
    log_bytes = facts.number("setting.innodb_log_file_size")  # One file: 10.5 knows no other number.
    rate = facts.number("rate.innodb_os_log_written_per_s")
    if mark > 0 or rate * _WITHIN_S < log_bytes:
        return None
    return Finding(
        says=f"The log of {log_bytes / MIB:.0f} MiB is full after {log_bytes / rate:.0f} s, and nothing is flushed "
        "before it nearly is.",
        severity=Severity.ADVICE,
        fixes=(setting(facts, "innodb_max_dirty_pages_pct_lwm", _MARK),),
        durability=Level.L3,
    )


RULE = Rule(
    id="INNO027",
    title="Pages are flushed before the log is nearly full",
    topic="writing",
    check=check,
    source="MariaDB manual, InnoDB Page Flushing (2025)",
    applies=lambda facts: not rocksdb_leads(facts) and facts.number("server.version") >= _SINCE,
    good={
        "server.version": versions.MARIADB + 101106,
        "setting.innodb_max_dirty_pages_pct_lwm": 1,
        "setting.innodb_log_file_size": 100663296,
        "rate.innodb_os_log_written_per_s": 1000000.0,
    },
    bad={
        "server.version": versions.MARIADB + 101106,
        "setting.innodb_max_dirty_pages_pct_lwm": 0,
        "setting.innodb_log_file_size": 100663296,
        "rate.innodb_os_log_written_per_s": 1000000.0,
    },
)
