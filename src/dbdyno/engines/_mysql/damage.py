"""The family's own check of its tables after a crash, whatever the storage engine: `CHECK TABLE … EXTENDED`.

Source: MariaDB documentation and MySQL 8.0 manual, "CHECK TABLE": every row is read and every index entry looked up;
pages that come from the disk are held against their checksums.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pymysql

from dbdyno.engines._mysql.connection import connect, words_of
from dbdyno.model.errors import TargetError
from dbdyno.model.target import Secret, Target

_SCHEMAS = ("information_schema", "performance_schema", "sys")
_CHECK_S = 120


def execute(target: Target, secret: Secret, *statements: str, ignore: bool = False) -> list[tuple[Any, ...]]:
    """Runs statements, returns the rows of the last. `ignore`: one that this version does not know is left out. Raises
    `TargetError`."""
    rows: list[tuple[Any, ...]] = []
    connection = connect(target, secret)
    try:
        with connection.cursor() as cursor:
            for statement in statements:
                try:
                    cursor.execute(statement)
                except (pymysql.err.OperationalError, pymysql.err.InternalError) as error:
                    # 1193: unknown system variable.
                    if not ignore or words_of(error)[0] != 1193:
                        raise
                else:
                    rows = list(cursor.fetchall())
    except (pymysql.Error, OSError) as error:
        raise TargetError(f"{target.label} refuses a statement.", found=words_of(error)[1]) from None
    finally:
        connection.close()
    return rows


def table_damages(target: Target, secret: Secret) -> list[str]:
    """What `CHECK TABLE … EXTENDED` says of every table. Raises `TargetError` when it cannot be asked."""
    connection = connect(target, secret)
    vars(connection)["_read_timeout"] = _CHECK_S
    try:
        with connection.cursor() as cursor:
            return list(_checked(cursor))
    except (pymysql.Error, OSError) as error:
        raise TargetError(f"{target.label} could not be asked for damage.", found=words_of(error)[1]) from None
    finally:
        connection.close()


def _checked(cursor: Any) -> Iterator[str]:
    cursor.execute(
        "SELECT table_schema, table_name FROM information_schema.tables WHERE table_type = 'BASE TABLE'"
        " AND table_schema NOT IN %s",
        (_SCHEMAS,),
    )
    tables = [f"`{schema}`.`{name}`" for schema, name in cursor.fetchall()]
    cursor.execute(f"CHECK TABLE {', '.join(tables)} EXTENDED")
    for table, _operation, kind, says in cursor.fetchall():
        # Tables of the server's own that their storage engine cannot check say so as a note.
        if str(kind).lower() in ("error", "warning") or (str(kind).lower() == "status" and says != "OK"):
            yield f"{table}: {says}"
