"""Settings in bytes and seconds, and changes of them."""

from __future__ import annotations

from dbdyno.engines.postgresql.rules._setting import setting
from dbdyno.engines.postgresql.units import in_base
from dbdyno.model.facts import Facts, MissingFact
from dbdyno.model.finding import Fix

__all__ = ["bytes_of", "compressed_pages", "further_apart", "power_of_two", "seconds_of", "setting"]

_METHODS_SINCE = 150000
_TIMEOUT_S_MAX = 3600.0
"""The longest way between checkpoints that is advised: "Tuning PostgreSQL for sysbench-tpcc" (2018)."""


def bytes_of(facts: Facts, name: str) -> float:
    """A memory setting in bytes, whatever unit the server gives it in. Negative numbers (off, automatic) stay."""
    return _in(facts, name, "B")


def seconds_of(facts: Facts, name: str) -> float:
    return _in(facts, name, "s")


def power_of_two(value: float) -> int:
    """The next power of two, at least 1."""
    return 1 << max(0, int(value - 1).bit_length()) if value > 1 else 1


def compressed_pages(facts: Facts) -> Fix:
    """Compression of whole pages in the log, by the word that says which; `on` is that method from version 15 on."""
    version = facts.find("server.version")
    known = version is not None and isinstance(version.value, int | float) and version.value >= _METHODS_SINCE
    return setting(facts, "wal_compression", "pglz" if known else "on")


def further_apart(facts: Facts) -> tuple[Fix, ...]:
    """Checkpoints twice as far apart, by time and by volume; nothing for what is not known or far apart already."""
    fixes = []
    if facts.has("setting.checkpoint_timeout") and (now_s := seconds_of(facts, "checkpoint_timeout")) < _TIMEOUT_S_MAX:
        fixes.append(setting(facts, "checkpoint_timeout", round(min(_TIMEOUT_S_MAX, 2 * now_s))))
    if facts.has("setting.max_wal_size"):
        fixes.append(setting(facts, "max_wal_size", round(2 * bytes_of(facts, "max_wal_size")) >> 20))
    return tuple(fixes)


def _in(facts: Facts, name: str, base: str) -> float:
    number = facts.number(f"setting.{name}")
    fact = facts.find(f"setting.{name}")
    unit = fact.unit if fact is not None else ""
    if number <= 0 or not unit:
        return number
    # Base units such as `8kB` are a count of blocks.
    blocks = "".join(letter for letter in unit if letter.isdigit())
    value = in_base(f"{number * int(blocks or 1):f}{unit.lstrip('0123456789')}", base)
    if value is None:
        raise MissingFact(f"setting.{name}", f"not a quantity: {number:g} {unit}")
    return value
