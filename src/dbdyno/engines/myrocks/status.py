"""Reads SHOW ENGINE ROCKSDB STATUS: statistics, the store, compaction by column family, memory, background threads.

A pure function. The server answers with several texts (statistics, DBSTATS, one a column family, memory, threads);
they are read one after the other, each by what its own lines say, so that a saved answer in any frame, a part of it,
or one that ends early gives what it holds. `unread` says what is missing.

The lines are those of RocksDB's `DB::GetProperty("rocksdb.stats")` as MyRocks prints them; both forms of the stall line
are known (`Stalls(count): 6 level0_slowdown, …` and, in later versions, `Write Stall (count): …`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from dbdyno.model.errors import UsageError
from dbdyno.model.fact import Scalar
from dbdyno.model.record import Record

_UNITS = {"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}
_COUNT = re.compile(r"^(?:Status: )?(?P<name>rocksdb\.[a-z0-9._-]+) COUNT : (?P<value>\d{1,19})$")
_FAMILY = re.compile(r"^\*\* Compaction Stats \[(?P<name>.*)\] \*\*$")
_LEVEL = re.compile(
    r"^\s*(?P<level>L\d+|Sum)\s+(?P<files>\d{1,9})/(?P<busy>\d{1,9})\s+"
    r"(?P<size>\d{1,15}(?:\.\d{1,15})?) (?P<unit>[KMGT]?B)"
    r"\s+(?P<score>\d{1,15}(?:\.\d{1,15})?)"
    r"\s+(?P<read>[\d.]+)\s+(?P<rn>[\d.]+)\s+(?P<rnp1>[\d.]+)\s+(?P<write>[\d.]+)\s+(?P<new>[\d.]+)\s+(?P<moved>[\d.]+)"
    r"\s+(?P<amplification>\d{1,15}(?:\.\d{1,15})?)\b"
)
_STALLED = re.compile(
    r"^Cumulative stall: (?P<h>\d{1,9}):(?P<m>\d{1,2}):(?P<s>\d{1,15}(?:\.\d{1,15})?)"
    r" H:M:S, (?P<pct>\d{1,15}(?:\.\d{1,15})?) percent$"
)
_UPTIME = re.compile(r"^Uptime\(secs\): (?P<total>\d{1,15}(?:\.\d{1,15})?) total")
_STALLS = re.compile(r"^(?:Stalls\(count\)|Write Stall \(count\)): (?P<list>.*)$")
_OLD_COUNT = re.compile(r"(\d{1,18}) ([a-z0-9_ ]+)")
_NEW_COUNT = re.compile(r"([a-z0-9-]+): (\d{1,18})")
_MEMORY = re.compile(
    r"^(?:Status: )?(?P<name>MemTable Total|MemTable Unflushed|Table Readers Total|Cache Total): (?P<value>\d{1,19})$"
)
_THREAD = re.compile(r"^operation_type: (?P<type>Compaction|Flush)$")
_LAST = re.compile(r"^state_type: ?[A-Za-z]*$")
"""With this line the answer's last text ends."""
_STALL_NAMES = {
    "level0_slowdown": "l0_slowdowns",
    "level0_numfiles": "l0_stops",
    "stop for pending_compaction_bytes": "pending_compaction_stops",
    "slowdown for pending_compaction_bytes": "pending_compaction_slowdowns",
    "memtable_compaction": "memtable_stops",
    "memtable_slowdown": "memtable_slowdowns",
    "l0-file-count-limit-delays": "l0_slowdowns",
    "l0-file-count-limit-stops": "l0_stops",
    "cf-l0-file-count-limit-delays-with-ongoing-compaction": "",
    "cf-l0-file-count-limit-stops-with-ongoing-compaction": "",
    "pending-compaction-bytes-delays": "pending_compaction_slowdowns",
    "pending-compaction-bytes-stops": "pending_compaction_stops",
    "memtable-limit-delays": "memtable_slowdowns",
    "memtable-limit-stops": "memtable_stops",
}


class Level(Record, frozen=True, kw_only=True):
    name: str
    """`L0` …; `Sum` over all."""
    files: int
    compacting: int
    size_bytes: int
    score: float
    """Above 1 the level waits for compaction."""
    write_amplification: float


class Family(Record, frozen=True, kw_only=True):
    """One column family."""

    name: str
    levels: tuple[Level, ...] = ()
    stalls: dict[str, int] = {}
    """`l0_slowdowns`, `l0_stops`, `pending_compaction_slowdowns`, … since the start."""


class RocksStatus(Record, frozen=True, kw_only=True):
    counts: dict[str, int] = {}
    """Statistics by name, without `rocksdb.` in front."""
    uptime_s: float | None = None
    """How long the store has been open."""
    stall_s: float | None = None
    stall_pct: float | None = None
    families: tuple[Family, ...] = ()
    memory: dict[str, int] = {}
    """`MemTable Total` … in bytes."""
    compactions_running: int | None = None
    flushes_running: int | None = None
    unread: tuple[str, ...] = ()


class _Reader:
    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.memory: dict[str, int] = {}
        self.levels: dict[str, dict[str, Level]] = {}
        self.stalls: dict[str, dict[str, int]] = {}
        self.stall: tuple[float, float] | None = None
        self.uptime_s: float | None = None
        self.threads: list[str] = []
        self.has_threads = False
        self._family: str | None = None

    def take(self, line: str) -> None:
        if found := _COUNT.match(line):
            self.counts[found["name"].removeprefix("rocksdb.")] = int(found["value"])
        elif found := _FAMILY.match(line):
            self._family = found["name"]
            self.levels.setdefault(self._family, {})
        elif self._family is not None and (found := _LEVEL.match(line)):
            self.levels[self._family].setdefault(found["level"], _level(found))
        elif self._family is not None and (found := _STALLS.match(line)):
            self.stalls.setdefault(self._family, _stalls(found["list"]))
        elif self.uptime_s is None and (found := _UPTIME.match(line)):
            self.uptime_s = float(found["total"])
        elif found := _STALLED.match(line):
            seconds = int(found["h"]) * 3600 + int(found["m"]) * 60 + float(found["s"])
            self.stall = self.stall or (seconds, float(found["pct"]))
        elif found := _MEMORY.match(line):
            self.memory[found["name"]] = int(found["value"])
        elif line.startswith(("thread_type:", "Status: thread_type:")):
            self.has_threads = True
        elif found := _THREAD.match(line):
            self.threads.append(found["type"])


def parse_status(text: str) -> RocksStatus:
    """The answer's texts, joined by newlines. Raises `UsageError` when nothing in it is of such a status."""
    plain = text.removeprefix("\ufeff").replace("\r\n", "\n")
    lines = plain.split("\n")
    unread: list[str] = []
    reader = _Reader()
    # A number that is cut in the middle looks like another number, so a last line without its end does not count.
    cut = lines.pop()
    if cut.strip() and not _LAST.match(cut.rstrip()):
        unread.append(f"the text ends inside the line {cut.strip()[:60]!r}")
        cut = ""
    for line in (*lines, cut):
        reader.take(line.rstrip())
    if not (reader.counts or reader.levels or reader.memory or reader.stall):
        raise UsageError(
            "This is not a status text of RocksDB.",
            found=f"it begins with {plain.strip()[:60]!r}" if plain.strip() else "an empty text",
            todo="save the answer of SHOW ENGINE ROCKSDB STATUS, with its line ends",
        )
    if reader.stall is None:
        unread.append("DBSTATS: the time in stalls is not in the text")
    for name, levels in reader.levels.items():
        if "Sum" not in levels:
            unread.append(f"column family {name}: its levels are not in the text")
        if name not in reader.stalls:
            unread.append(f"column family {name}: its stalls are not in the text")
    if not reader.levels:
        unread.append("no column family is in the text")
    if not reader.memory:
        unread.append("MEMORY_STATS is not in the text")
    return RocksStatus(
        counts=reader.counts,
        uptime_s=reader.uptime_s,
        stall_s=reader.stall[0] if reader.stall else None,
        stall_pct=reader.stall[1] if reader.stall else None,
        families=tuple(
            Family(name=name, levels=tuple(levels.values()), stalls=reader.stalls.get(name, {}))
            for name, levels in reader.levels.items()
        ),
        memory=reader.memory,
        compactions_running=reader.threads.count("Compaction") if reader.has_threads else None,
        flushes_running=reader.threads.count("Flush") if reader.has_threads else None,
        unread=tuple(unread),
    )


def rocksdb_status_row(text: str) -> dict[str, Scalar]:
    """The figures of a status text as the one row of a probe; what the text does not say is left out."""
    status = parse_status(text)
    sums = [level for family in status.families for level in family.levels if level.name == "Sum"]
    first = [level for family in status.families for level in family.levels if level.name == "L0"]
    single = [level for family in status.families for level in family.levels if level.name != "Sum"]
    stalls = {name: 0 for family in status.families for name in family.stalls}
    for family in status.families:
        for name, count in family.stalls.items():
            stalls[name] += count
    row: dict[str, Scalar | None] = {
        # A family that never had a file there has no line for the level.
        "files_l0": sum(level.files for level in first) if sums else None,
        "size_bytes": _sum([level.size_bytes for level in sums]),
        "compacting_files": _sum([level.compacting for level in sums]),
        "score_max": max((level.score for level in single), default=0.0 if sums else None),
        "write_amplification": max((level.write_amplification for level in sums), default=None),
        "stall_s": status.stall_s,
        "stall_pct": status.stall_pct,
        "memtable_bytes": status.memory.get("MemTable Total"),
        "table_reader_bytes": status.memory.get("Table Readers Total"),
        "cache_bytes": status.memory.get("Cache Total"),
        "compactions_running": status.compactions_running,
        "flushes_running": status.flushes_running,
        "unread": len(status.unread),
        **stalls,
    }
    return {name: value for name, value in row.items() if value is not None}


def _level(found: re.Match[str]) -> Level:
    return Level(
        name=found["level"],
        files=int(found["files"]),
        compacting=int(found["busy"]),
        size_bytes=round(float(found["size"]) * _UNITS[found["unit"]]),
        score=float(found["score"]),
        write_amplification=float(found["amplification"]),
    )


def _stalls(text: str) -> dict[str, int]:
    pairs = [(name.strip(), int(count)) for count, name in _OLD_COUNT.findall(text)]
    pairs += [(name, int(count)) for name, count in _NEW_COUNT.findall(text)]
    return {_STALL_NAMES[name]: count for name, count in pairs if _STALL_NAMES.get(name)}


def _sum(numbers: Sequence[int]) -> int | None:
    return sum(numbers) if numbers else None
