"""What InnoDB adds to a session: writing out its dirty pages, and waiting for a buffer pool that changes its size.

Source: MySQL 8.0 manual, "Configuring Buffer Pool Flushing" and "Configuring InnoDB Buffer Pool Size" (2023); MariaDB
manual, "InnoDB Page Flushing" (2023): with a limit of 0 % the page cleaner writes until nothing is dirty, at most
`innodb_io_capacity_max` (MySQL) or `innodb_io_capacity` (MariaDB) pages a second.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dbdyno.engines._mysql.session import QUESTION_TIMEOUT_MS, MySQLSession
from dbdyno.model.engine import Debt
from dbdyno.model.errors import TargetError
from dbdyno.model.knob import Assignment, Value

SETTLE_S_MAX = 3600.0
RESIZE_S_MAX = 120.0
_STEP_S = 0.02
_CLEAN_PAGES = 16
"""A server that does nothing still touches a few pages."""
_IDLE_S = 3.0
"""Without a page written for so long, what is dirty stays dirty (a server that only just lives, or is not alone)."""
_DIRTY, _WRITTEN = "innodb_buffer_pool_pages_dirty", "innodb_data_written"
_FLUSHED = "innodb_buffer_pool_pages_flushed"
_AT_ONCE: dict[str, Value] = {
    "innodb_io_capacity_max": 1_000_000,
    "innodb_io_capacity": 500_000,
    "innodb_max_dirty_pages_pct_lwm": 0,
    "innodb_max_dirty_pages_pct": 0,
}
"""The debt is what the device takes to write it, not what a setting allows to be written in a second; so all
configurations are charged alike."""
_CHECKPOINT = "innodb_log_checkpoint_now"
"""Seen in MariaDB 10.11.19, not in 11.4.5 and MySQL 8.0.12, where it is only in builds for debugging."""
_POOL = "innodb_buffer_pool_size"


class InnoDBSession(MySQLSession):
    """See `dbdyno.model.engine.Session`."""

    def apply(self, assignment: Assignment, *, reset: Sequence[str] | Mapping[str, str] = ()) -> list[str]:
        waiting = super().apply(assignment, reset=reset)
        if _POOL in {*assignment, *reset} and _POOL not in waiting:
            self._await_resize()
        return waiting

    def settle(self) -> Debt:
        """Has all dirty pages written as fast as the device can, and puts the settings that this takes back.

        Raises `TargetError` when they may not be set.
        """
        before = {name: found for name in _AT_ONCE if (found := self._setting(name)) is not None}
        written, started = self.status(_WRITTEN).get(_WRITTEN), self.now()
        try:
            for name, value in _AT_ONCE.items():
                if name in before:
                    self.set_global(name, value)
            if self._setting(_CHECKPOINT) is not None:
                self._checkpoint()
            self._await_clean()
        finally:
            if self._connection.open:
                # The capacity may not be above its own limit at any time, so the order is turned round.
                for name in reversed(before):
                    self.set_global(name, before[name])
        seconds = (self.now() - started).total_seconds()
        after = self.status(_WRITTEN).get(_WRITTEN)
        bytes_ = None if written is None or after is None else max(after - written, 0.0)
        return Debt(seconds=max(seconds, 0.0), written_bytes=bytes_)

    def _checkpoint(self) -> None:
        """Without it the page cleaner begins when it wakes the next time: up to two seconds later, on every
        configuration alike."""
        self._limit(int(SETTLE_S_MAX * 1e3))
        try:
            self.set_global(_CHECKPOINT, "ON")
        finally:
            if self._connection.open:
                self._limit(QUESTION_TIMEOUT_MS)

    def _await_clean(self) -> None:
        started = moved = self.now()
        last = (float("inf"), 0.0)
        while True:
            found = self.status(_DIRTY, _FLUSHED)
            if found.get(_DIRTY, 0.0) <= _CLEAN_PAGES:
                return
            now, seen = self.now(), (found[_DIRTY], found.get(_FLUSHED, 0.0))
            if seen[0] < last[0] or seen[1] > last[1]:
                last, moved = seen, now
            if (now - moved).total_seconds() > _IDLE_S:
                return
            if (now - started).total_seconds() > SETTLE_S_MAX:
                raise TargetError(
                    f"{self._target.label} did not write its dirty pages within {SETTLE_S_MAX:g} s.",
                    found=f"{found[_DIRTY]:.0f} pages are dirty",
                )
            self.pause(_STEP_S)

    def _setting(self, name: str) -> str | None:
        rows = self.run(f"SHOW GLOBAL VARIABLES LIKE '{name}'", f"read {name}")
        return str(rows[0][1]) if rows else None

    def _await_resize(self) -> None:
        """The server changes the size piece by piece, in the background. Its words end with a time when it is done."""
        for _ in range(int(RESIZE_S_MAX / 0.1)):
            rows = self.run("SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_resize_status'", "read the resize's status")
            words = str(rows[0][1]) if rows else ""
            if not words or "Completed" in words or "same" in words or "fail" in words.lower():
                return
            self.pause(0.1)
