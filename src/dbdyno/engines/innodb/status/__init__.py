"""The parser of SHOW ENGINE INNODB STATUS (docs/reference/innodb-status.md)."""

from dbdyno.engines.innodb.status.parse import (
    innodb_status_row,
    latch_waits,
    most_frequent,
    parse_status,
    parse_statuses,
)
from dbdyno.engines.innodb.status.records import EngineStatus

__all__ = ["EngineStatus", "innodb_status_row", "latch_waits", "most_frequent", "parse_status", "parse_statuses"]
