"""What MyRocks adds to a session: writing out its memtables, and the compactions that this leaves to do.

Source: MariaDB manual, "MyRocks System Variables" and "MyRocks Status Variables" (2023).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dbdyno.engines._mysql import units
from dbdyno.engines._mysql.session import MySQLSession
from dbdyno.engines.myrocks import families
from dbdyno.model.engine import Debt
from dbdyno.model.errors import TargetError
from dbdyno.model.fact import Fact
from dbdyno.model.knob import Assignment, Setting

SETTLE_S_MAX = 3600.0
_STEP_S = 0.05
_CALM_ROUNDS = 3
"""A compaction that ends may start the next one a moment later."""
_WRITTEN = ("rocksdb_flush_write_bytes", "rocksdb_compact_write_bytes")
_FLUSH = ("rocksdb_force_flush_memtable_and_lzero_now", "rocksdb_force_flush_memtable_now")
_PENDING = (
    "SELECT stat_type, SUM(value) FROM information_schema.ROCKSDB_CFSTATS "
    "WHERE stat_type IN ('COMPACTION_PENDING', 'MEM_TABLE_FLUSH_PENDING') GROUP BY stat_type"
)
_ENGINE = "SELECT support FROM information_schema.ENGINES WHERE engine = 'ROCKSDB'"


class MyRocksSession(MySQLSession):
    """See `dbdyno.model.engine.Session`."""

    def facts(self) -> list[Fact]:
        rows = self.run(_ENGINE, "ask for the storage engine")
        there = bool(rows) and str(rows[0][0]) in ("YES", "DEFAULT")
        return [*super().facts(), Fact(name="server.storage_engine_there", source="information_schema", value=there)]

    def settings(self) -> dict[str, Setting]:
        rows = self.run(families.QUERY, "read the options of the column family")
        return {**super().settings(), **families.settings((str(kind), str(value)) for kind, value in rows)}

    def apply(self, assignment: Assignment, *, reset: Sequence[str] | Mapping[str, str] = ()) -> list[str]:
        if names := families.only_at_start(assignment):
            line = "".join(units.option_lines(families.joined({name: assignment[name] for name in names})))
            raise TargetError(
                f"{self._target.label} takes options of a column family only when it starts.",
                found=", ".join(names),
                todo=f"write `{line}` into the server's option file, and restart it",
            )
        kept = dict(reset) if isinstance(reset, Mapping) else {name: "" for name in reset}
        for name in families.only_at_start(kept):
            del kept[name]
        return super().apply(assignment, reset=kept if isinstance(reset, Mapping) else list(kept))

    def settle(self) -> Debt:
        """Writes the memtables and level 0 down and waits until no compaction is pending; all that is deferred work.
        Raises `TargetError` when it may not be asked for."""
        before, started = self.status(*_WRITTEN), self.now()
        name = next((one for one in _FLUSH if self.run(f"SHOW GLOBAL VARIABLES LIKE '{one}'", "look")), None)
        if name is None:
            raise TargetError(
                f"{self._target.label} does not run this storage engine.",
                found="no " + " and no ".join(_FLUSH),
                todo="load its plug-in, or name the server without engine=",
            )
        self._limit(int(SETTLE_S_MAX * 1e3))
        try:
            self.set_global(name, 1)
        finally:
            if self._connection.open:
                self._limit(10_000)
        self._await_calm()
        seconds = (self.now() - started).total_seconds()
        after = self.status(*_WRITTEN)
        known = [max(after[one] - before[one], 0.0) for one in _WRITTEN if one in before and one in after]
        return Debt(seconds=max(seconds, 0.0), written_bytes=sum(known) if known else None)

    def _await_calm(self) -> None:
        started, calm = self.now(), 0
        while calm < _CALM_ROUNDS:
            pending = sum(float(value) for _kind, value in self.run(_PENDING, "read what is pending"))
            calm = calm + 1 if pending == 0 else 0
            if (self.now() - started).total_seconds() > SETTLE_S_MAX:
                raise TargetError(
                    f"{self._target.label} did not end its compactions within {SETTLE_S_MAX:g} s.",
                    found=f"{pending:g} are pending",
                )
            self.pause(_STEP_S)
