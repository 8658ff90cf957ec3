"""Settings in bytes and seconds, and changes of them."""

from __future__ import annotations

from dbdyno.engines.postgresql.rules._setting import setting
from dbdyno.engines.postgresql.units import in_base
from dbdyno.model.facts import Facts, MissingFact

__all__ = ["bytes_of", "power_of_two", "seconds_of", "setting"]


def bytes_of(facts: Facts, name: str) -> float:
    """A memory setting in bytes, whatever unit the server gives it in. Negative numbers (off, automatic) stay."""
    return _in(facts, name, "B")


def seconds_of(facts: Facts, name: str) -> float:
    return _in(facts, name, "s")


def power_of_two(value: float) -> int:
    """The next power of two, at least 1."""
    return 1 << max(0, int(value - 1).bit_length()) if value > 1 else 1


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
