"""One number for a version of any server of the family: vendor, major, minor, patch.

    vendor * 1_000_000 + major * 10_000 + minor * 100 + patch

The vendor is 0 for MySQL and Percona Server, whose numbers agree, and 1 for MariaDB, which left that line with 10.0.
So a range of versions in a knob or probe file never reaches from one vendor into the other by accident.
"""

from __future__ import annotations

import re

MARIADB = 1_000_000
"""Smallest version of that vendor."""
VERSION_REPLICA = 80022
"""SHOW REPLICA STATUS. Source: MySQL 8.0.22 release notes (2020)."""
VERSION_PERSIST = 80000
"""SET PERSIST. Source: MySQL 8.0 manual, "Persisted System Variables"."""
_NUMBER = re.compile(r"(?<![\d.])(\d+)\.(\d+)\.(\d+)(\S*)")


def is_mariadb(version: int) -> bool:
    return version >= MARIADB


def product(version: int) -> str:
    """The URL scheme of the server that has this version."""
    return "mariadb" if is_mariadb(version) else "mysql"


def parse(text: str) -> tuple[int, str] | None:
    """Version and a short name of it from `VERSION()` or from what the program says of itself (`--version`).

    `10.11.19-MariaDB-0+deb12u1` becomes 1101119 and `10.11.19 MariaDB`, `Ver 8.0.12 for linux (MySQL Community Server)`
    becomes 80012 and `8.0.12 MySQL`. Very new clients of replication prefix MariaDB's number with `5.5.5-`.
    """
    found = _NUMBER.search(text.replace("5.5.5-", "", 1))
    if found is None:
        return None
    major, minor, patch = (int(found[index]) for index in (1, 2, 3))
    vendor = "MariaDB" if "mariadb" in text.lower() else "Percona" if "percona" in text.lower() else "MySQL"
    number = (MARIADB if vendor == "MariaDB" else 0) + major * 10_000 + minor * 100 + min(patch, 99)
    return number, f"{major}.{minor}.{patch} {vendor}"


def replica_status(version: int) -> str:
    """The statement that tells whom a server follows. MariaDB's connections may have names; only this one shows all."""
    if is_mariadb(version):
        return "SHOW ALL SLAVES STATUS"
    return "SHOW REPLICA STATUS" if version >= VERSION_REPLICA else "SHOW SLAVE STATUS"
