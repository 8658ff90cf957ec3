"""Transactions with their locks, the latest deadlock, and the latest foreign key error."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from dbdyno.engines.innodb.status.records import (
    Deadlock,
    DeadlockSide,
    ForeignKeyError,
    LockWait,
    Transaction,
    Transactions,
)
from dbdyno.engines.innodb.status.text import integer, shortened

QUERY_CHARACTERS = 4000
"""Longer statements are cut; servers print at most a few thousand characters themselves."""

_ID = r"(?P<id>\(?0x[0-9a-fA-F]+\)?|[0-9A-Fa-f]+(?: [0-9]+)?)"
_HEAD = re.compile(r"^(?:---)?TRANSACTION " + _ID + r", (?P<state>.*)$")
_ACTIVE = re.compile(
    r"^(?P<state>[A-Z]+(?: \([A-Z a-z]+\))?(?: IN MEMORY)?|not started)"
    r"(?: (?P<age>\d{1,12}(?:\.\d{1,9})?) sec\b)?(?P<doing>.*)$"
)
_NOISE = re.compile(r",? ?(?:process no \d+|OS thread id \d+|thread declared inside InnoDB \d+|recovered trx)")
_TABLES = re.compile(r"^mysql tables in use (?P<used>\d{1,18}), locked (?P<locked>\d{1,18})$")
_LOCKS = re.compile(
    r"^(?P<word>[A-Z ]*?) ?(?P<structs>\d{1,18}) lock struct\(s\), heap size \d+"
    r"(?:, (?P<rows>\d{1,18}) row lock\(s\))?(?:, undo log entries (?P<undo>\d{1,18}))?(?:, holds .*)?$"
)
_UNDO = re.compile(r"^, ?(?:holds adaptive hash latch|undo log entries (?P<undo>\d{1,18}))")
_THREAD = re.compile(
    r"^(?:MySQL|MariaDB) thread id (?P<thread>\d{1,18})(?:, OS thread (?:handle|id) (?:0x)?[0-9a-fA-F]+)?"
    r"(?:, query id (?P<query>\d+)(?P<user>.*))?$"
)
_WAITING = re.compile(r"^-* ?TRX HAS BEEN WAITING (?P<time>\d{1,18}) (?P<unit>SEC|us) FOR THIS LOCK TO BE GRANTED:?$")
_RECORD_LOCK = re.compile(
    r"^RECORD LOCKS space id (?P<space>\d{1,18}) page no (?P<page>\d{1,18}) n bits \d+ index `?(?P<index>[^`]*?)`? "
    r"of table (?P<table>`[^`]*`(?:\.`[^`]*`)?)(?: /\*.*?\*/)?"
    r"(?: trx(?: table locks \d+ total table locks \d+ )? ?id (?P<trx>[0-9A-Fa-f]+(?: \d+)?|\(?0x[0-9a-f]+\)?))?"
    r"(?: lock[_ ]mode (?P<mode>.*?))?(?: lock hold time .*)?$"
)
_TABLE_LOCK = re.compile(
    r"^TABLE LOCK table (?P<table>`[^`]*`(?:\.`[^`]*`)?)(?: /\*.*?\*/)? trx id (?P<trx>\S+(?: \d+)?) "
    r"lock[_ ]mode (?P<mode>.*?)(?: lock hold time .*)?$"
)
_VIEW = re.compile(r"^Trx read view will not see .*$")
_SKIPPED = re.compile(
    r"^(?:Trx #rec lock waits|Trx total |Record lock, heap no|\d+: len \d+;|\d+: SQL NULL|-{3,}$|Lock wait timeout|"
    r"TABLE LOCK|RECORD LOCKS|trx id |\d+ sec|COMMIT$|, holds|Trx state|purge trx|worker thread)"
)
_RULE = re.compile(r"^-{3,}$")
_COUNTER = re.compile(r"^Trx id counter (?P<id>[0-9A-Fa-f]+(?: \d+)?)$")
_PURGE = re.compile(
    r"^Purge done for trx's n:o < (?P<id>[0-9A-Fa-f]+(?: \d+)?) undo n:o < (?P<undo>[0-9A-Fa-f]+(?: \d+)?)"
    r"(?: state: (?P<state>.*))?$"
)
_HISTORY = re.compile(r"^History list length (?P<length>\d{1,18})$")
_HEADER = re.compile(
    r"^(?:LIST OF TRANSACTIONS FOR EACH SESSION:|Total number of lock structs in row lock hash table \d+)$"
)
_TRUNCATED = re.compile(r"^\.\.\. ?truncated")
_TIME = re.compile(r"^(?P<at>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d|\d{6} +\d+:\d\d:\d\d)")
_SIDE = re.compile(r"^\*\*\* \((?P<number>\d{1,18})\) TRANSACTION:$")
_WAITS = re.compile(r"^\*\*\* (?:\(\d+\) )?WAITING FOR THIS LOCK TO BE GRANTED:$")
_HOLDS = re.compile(r"^\*\*\* (?:\((?P<number>\d{1,18})\) HOLDS THE LOCK\(S\)|CONFLICTING WITH):$")
_ROLLED = re.compile(r"^\*\*\* WE ROLL BACK TRANSACTION \((?P<number>\d{1,18})\)$")
_TOO_DEEP = "*** TOO DEEP OR LONG SEARCH"


def read_lock(line: str, waited_s: float | None = None) -> LockWait | None:
    found = _RECORD_LOCK.match(line) or _TABLE_LOCK.match(line)
    if found is None:
        return None
    parts = found.groupdict()
    return LockWait(
        table=parts["table"].replace("`", ""),
        index=parts.get("index") or "",
        mode=(parts.get("mode") or "").strip(),
        space=integer(parts.get("space")),
        page=integer(parts.get("page")),
        trx=(parts.get("trx") or "").strip("()"),
        waited_s=waited_s,
    )


class _Reader:
    """Gathers one transaction from its lines."""

    def __init__(self, head: re.Match[str]) -> None:
        self.fields: dict[str, Any] = {"id": head["id"].strip("()"), "state": head["state"].strip()}
        active = _ACTIVE.match(_NOISE.sub("", head["state"]))
        if active is not None:
            self.fields["state"] = active["state"]
            self.fields["age_s"] = float(active["age"]) if active["age"] else None
            self.fields["doing"] = active["doing"].strip(" ,")
        self._query: list[str] | None = None
        self._waited_s: float | None = None
        self._waits = False
        self.unknown: list[str] = []

    def take(self, line: str) -> None:
        if waiting := _WAITING.match(line):
            self._waited_s = int(waiting["time"]) / (1 if waiting["unit"] == "SEC" else 1e6)
            self._waits, self._query = True, None
        elif self._waits and (lock := read_lock(line, self._waited_s)):
            self.fields["waiting"], self._waits = lock, False
        elif thread := _THREAD.match(line):
            self.fields.update(thread=int(thread["thread"]), user=(thread["user"] or "").strip())
            self._query = self.fields.setdefault("_query", [])
        elif _VIEW.match(line):
            self.fields["read_view"], self._query = line, None
        elif self._query is not None and not _end_of_query(line):
            self._query.append(line)
        elif not self._detail(line) and not _SKIPPED.match(line.strip()):
            self.unknown.append(line.strip())

    def _detail(self, line: str) -> bool:
        if tables := _TABLES.match(line):
            self.fields.update(tables_in_use=int(tables["used"]), tables_locked=int(tables["locked"]))
        elif locks := _LOCKS.match(line):
            self.fields.update(
                lock_structs=int(locks["structs"]),
                row_locks=integer(locks["rows"]),
                undo_entries=integer(locks["undo"]),
            )
            if locks["word"] in ("ROLLING BACK", "COMMITTING"):
                self.fields["state"] = locks["word"]
        elif undo := _UNDO.match(line):
            self.fields["undo_entries"] = integer(undo["undo"])
        else:
            return not line.strip()
        return True

    def done(self) -> Transaction:
        query = "\n".join(self.fields.pop("_query", [])).strip()
        return Transaction(query=query[:QUERY_CHARACTERS], **self.fields)


def _end_of_query(line: str) -> bool:
    return (
        line.startswith(("------- TRX HAS", "TABLE LOCK table `", "RECORD LOCKS space id "))
        or _RULE.match(line) is not None
    )


def read_transactions(lines: Sequence[str]) -> tuple[Transactions, list[str]]:
    fields: dict[str, Any] = {}
    readers: list[_Reader] = []
    unknown: list[str] = []
    for line in lines:
        if line.startswith("---TRANSACTION ") and (head := _HEAD.match(line)):
            readers.append(_Reader(head))
        elif counter := _COUNTER.match(line):
            fields["next_id"] = counter["id"]
        elif purge := _PURGE.match(line):
            fields.update(
                purge_done_id=purge["id"], purge_done_undo=purge["undo"], purge_state=(purge["state"] or "").strip()
            )
        elif history := _HISTORY.match(line):
            fields["history_list_length"] = int(history["length"])
        elif _TRUNCATED.match(line.strip()):
            fields["shortened"] = True
        elif _HEADER.match(line):
            continue
        elif readers:
            readers[-1].take(line)
        elif line.strip():
            unknown.append(line.strip())
    for reader in readers:
        unknown += reader.unknown
    return Transactions(list=tuple(reader.done() for reader in readers), **fields), unknown


class _Deadlock:
    """Gathers the latest deadlock from its lines."""

    def __init__(self) -> None:
        self.fields: dict[str, Any] = {}
        self._sides: dict[int, dict[str, Any]] = {}
        self._readers: dict[int, _Reader] = {}
        self._held: list[tuple[int | None, LockWait]] = []
        self._side = 0
        self._owner: int | None = None
        self._expecting = ""
        self._inside = False
        """Whether lines belong to the description of a transaction."""

    def take(self, line: str) -> None:
        if line.startswith("*** "):
            self._inside = False
            self._heading(line)
        elif self._expecting and (lock := read_lock(line)):
            if self._expecting == "holds":
                self._held.append((self._owner, lock))
            else:
                self._sides.setdefault(self._side, {})["waits_for"] = lock
            self._expecting = ""
        elif self._inside and self._side in self._readers:
            self._readers[self._side].take(line)
        elif self._inside and (head := _HEAD.match(line)):
            self._readers[self._side] = _Reader(head)

    def _heading(self, line: str) -> None:
        if found := _SIDE.match(line):
            self._side, self._inside, self._expecting = int(found["number"]), True, ""
            self._sides.setdefault(self._side, {})
        elif _WAITS.match(line):
            self._expecting = "waits"
        elif found := _HOLDS.match(line):
            self._expecting, self._owner = "holds", integer(found["number"])
        elif found := _ROLLED.match(line):
            self.fields["rolled_back"] = int(found["number"])
        elif line.startswith(_TOO_DEEP):
            self.fields["too_deep"] = True

    def done(self) -> Deadlock:
        for number, reader in self._readers.items():
            self._sides[number]["transaction"] = reader.done()
        for owner, lock in self._held:
            self._give(owner, lock)
        sides = tuple(DeadlockSide(number=number, **one) for number, one in sorted(self._sides.items()))
        return Deadlock(sides=sides, **self.fields)

    def _give(self, owner: int | None, lock: LockWait) -> None:
        """A held lock is of the side that is named, else (MariaDB from 10.6) of the transaction that it names."""
        for number, one in self._sides.items():
            transaction = one.get("transaction")
            if number == owner or (owner is None and transaction is not None and transaction.id == lock.trx):
                one.setdefault("holds", lock)


def read_deadlock(lines: Sequence[str]) -> tuple[Deadlock, list[str]]:
    """Both sides, the locks they waited for and held, and which was rolled back."""
    gathered = _Deadlock()
    gathered.fields["at"] = _at(lines)
    for line in lines:
        gathered.take(line)
    found = gathered.done()
    return found, [] if found.sides or found.too_deep else ["no transaction is described"]


def read_foreign_key_error(lines: Sequence[str]) -> tuple[ForeignKeyError, list[str]]:
    text = "\n".join(lines)
    table = re.search(r"for table (`[^`]*`(?:\.`[^`]*`)?)", text)
    constraint = re.search(r"CONSTRAINT `([^`]*)`", text)
    thread = re.search(
        r"^(?:MySQL|MariaDB) thread id (\d{1,18}).*\n(?P<query>(?:(?!Foreign key constraint).*\n?)*)", text, re.M
    )
    found = ForeignKeyError(
        at=_at(lines),
        table=table[1].replace("`", "") if table else "",
        constraint=constraint[1] if constraint else "",
        thread=int(thread[1]) if thread else None,
        query=thread["query"].strip()[:QUERY_CHARACTERS] if thread else "",
    )
    odd = [] if table or constraint else [f"neither table nor constraint is named: {shortened(text.strip())!r}"]
    return found, odd


def _at(lines: Sequence[str]) -> str:
    for line in lines:
        if found := _TIME.match(line):
            return found["at"]
    return ""
