"""InnoDB under the power-loss proof: how its data pages are kept moving, and its own checks."""

from __future__ import annotations

from pathlib import Path

from dbdyno.engines._mysql import binlog
from dbdyno.engines._mysql.damage import execute, table_damages
from dbdyno.model.crash import Logged
from dbdyno.model.target import Secret, Target

_WRITE_AT_ONCE = (
    "SET GLOBAL innodb_io_capacity_max = 20000",
    "SET GLOBAL innodb_io_capacity = 10000",
    "SET GLOBAL innodb_max_dirty_pages_pct_lwm = 0",
    "SET GLOBAL innodb_max_dirty_pages_pct = 0",
)
"""Without dirty pages allowed, the page cleaner writes all the time (MySQL 8.0 manual, 15.8.3.5 Configuring Buffer Pool
Flushing)."""


_TOOL = "innochecksum"


class Integrity:
    """See `dbdyno.crash.hooks.Integrity`."""

    def prepare(self, target: Target, secret: Secret) -> str:
        return ""

    def stir(self, target: Target, secret: Secret) -> None:
        execute(target, secret, *_WRITE_AT_ONCE, ignore=True)

    def damages(self, target: Target, secret: Secret) -> list[str]:
        return table_damages(target, secret)

    def logged(self, target: Target, secret: Secret, table: str) -> Logged | None:
        return binlog.logged(target, secret, table)

    def file_checks(self, data: Path, programs: Path) -> list[list[str]]:
        """One command a file. Temporary tablespaces are made anew at each start, and are not whole. The system
        tablespace is left out: it may hold the doublewrite buffer, whose pages may be torn without harm."""
        places = (programs, programs.parent / "bin", Path("/usr/bin"))
        tool = next((folder / _TOOL for folder in places if (folder / _TOOL).exists()), None)
        files = [*data.glob("undo*"), *data.glob("*/*.ibd")]
        return [[str(tool), str(file)] for file in sorted(files)] if tool else []

    def role_of(self, path: str) -> str:
        name = path.rsplit("/", 1)[-1]
        if (
            name.startswith("ib_logfile")
            or name.startswith("#ib_redo")
            or "-bin." in name
            or name.startswith("binlog.")
        ):
            return "log"
        if name.endswith(".dblwr"):
            return "doublewrite"
        return "data" if name.startswith(("ibdata", "undo")) or name.endswith((".ibd", ".ibu")) else "other"
