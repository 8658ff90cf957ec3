"""MyRocks under the power-loss proof: how its memtables are kept moving, and its own checks."""

from __future__ import annotations

from pathlib import Path

from dbdyno.engines._mysql import binlog
from dbdyno.engines._mysql.damage import execute, table_damages
from dbdyno.model.crash import Logged
from dbdyno.model.target import Secret, Target

_WRITE_AT_ONCE = "SET GLOBAL rocksdb_force_flush_memtable_now = 1"


class Integrity:
    """See `dbdyno.crash.hooks.Integrity`."""

    def prepare(self, target: Target, secret: Secret) -> str:
        return ""

    def stir(self, target: Target, secret: Secret) -> None:
        execute(target, secret, _WRITE_AT_ONCE)

    def damages(self, target: Target, secret: Secret) -> list[str]:
        return table_damages(target, secret)

    def logged(self, target: Target, secret: Secret, table: str) -> Logged | None:
        return binlog.logged(target, secret, table)

    def file_checks(self, data: Path, programs: Path) -> list[list[str]]:
        """None: blocks carry checksums, which every read verifies."""
        return []

    def role_of(self, path: str) -> str:
        name = path.rsplit("/", 1)[-1]
        if "-bin." in name or name.startswith("binlog."):
            return "log"
        if "#rocksdb" not in path.split("/") and ".rocksdb" not in path.split("/"):
            return "data" if name.endswith((".ibd", ".ibu")) or name.startswith("ibdata") else "other"
        if name == "CURRENT" or name.startswith("MANIFEST"):
            return "header"
        return "log" if name.endswith(".log") else "data" if name.endswith(".sst") else "other"
