"""What an audit of InnoDB looks at: all that the family shares. MyRocks' rules say themselves whether it is there."""

from dbdyno.engines._mysql.facts import RATES, counters, derive, read_facts, read_files

RULES_ALSO = ("_mysql", "myrocks")

__all__ = ["RATES", "RULES_ALSO", "counters", "derive", "read_facts", "read_files"]
