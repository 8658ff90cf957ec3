"""The block devices under data and log, as rules go over them."""

from __future__ import annotations

from dbdyno.model.facts import Facts

ROLES = ("data", "log")


def leaves(facts: Facts) -> list[str]:
    """The disks under data and log, each once."""
    return list(dict.fromkeys(" ".join(facts.text(f"host.{role}.leaves") for role in ROLES).split()))


def tops(facts: Facts) -> list[str]:
    """The devices that are mounted (an array, a volume, a disk), each once."""
    return list(dict.fromkeys(facts.text(f"host.{role}.device") for role in ROLES))


def roles(facts: Facts) -> list[str]:
    """`data`, and `log` when it lies on another mount: what is mounted twice is judged once."""
    points = {role: facts.text(f"host.{role}.mount_point") for role in ROLES}
    return ["data"] if points["data"] == points["log"] else ["data", "log"]


def points(facts: Facts, some: list[str]) -> str:
    """Where the storage of these roles is mounted."""
    return ", ".join(facts.text(f"host.{role}.mount_point") for role in some)


def in_words(parts: list[str]) -> str:
    return ", ".join(parts)
