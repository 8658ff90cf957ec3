"""What an audit of MyRocks looks at: all that the family shares. The system's tables are InnoDB's here too."""

from dbdyno.engines._mysql.facts import RATES, counters, derive, read_facts, read_files

RULES_ALSO = ("_mysql", "innodb")

__all__ = ["RATES", "RULES_ALSO", "counters", "derive", "read_facts", "read_files"]
