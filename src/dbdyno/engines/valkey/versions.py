"""Versions of two products as one number: vendor * 1_000_000 + major * 10_000 + minor * 100 + patch, with 0 for Redis
and 1 for Valkey (which says of itself, for old clients, that it is Redis 7.2.4)."""

from __future__ import annotations

from collections.abc import Mapping

from dbdyno.engines.dumptext import numeric_version

VALKEY = 1_000_000
_OTHERS = {"dragonfly_version": "dragonfly", "keydb_version": "keydb", "garnet_version": "garnet", "kvrocks_version":
           "kvrocks"}  # fmt: skip
"""Servers that speak the same protocol and are another program."""


def number_of(text: str, *, valkey: bool) -> int:
    """0 when it is none."""
    parts = (*numeric_version(text), 0, 0)
    return (VALKEY if valkey else 0) + parts[0] * 10_000 + parts[1] * 100 + parts[2] if numeric_version(text) else 0


def product_of(info: Mapping[str, str]) -> tuple[str, str]:
    """Product and version as the server's INFO says them; empty when it says neither."""
    for field, product in _OTHERS.items():
        if field in info:
            return product, info[field]
    if "valkey_version" in info or info.get("server_name") == "valkey":
        return "valkey", info.get("valkey_version", info.get("redis_version", ""))
    return ("redis", info["redis_version"]) if "redis_version" in info else ("", "")


def is_valkey(version: float) -> bool:
    return version >= VALKEY


def at_least(version: float, *, redis: int, valkey: int | None = None) -> bool:
    """Whether a version has what came with that one; None: every Valkey has it."""
    if is_valkey(version):
        return valkey is None or version - VALKEY >= valkey
    return version >= redis


def words(version: float) -> str:
    """`7.2.4` of the number."""
    plain = int(version) % VALKEY
    return f"{plain // 10_000}.{plain // 100 % 100}.{plain % 100}"
