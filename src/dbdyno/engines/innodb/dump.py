"""Dumps of any server of the family: whichever engine stores its tables, rules say themselves whether it is there."""

from dbdyno.engines._mysql.dumps import collect_script, parse, recognises

__all__ = ["collect_script", "parse", "recognises"]
