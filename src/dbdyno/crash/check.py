"""Holds what a server has after a crash against what was acknowledged: a pure function.

The journal says which transactions are there; replaying it foretells every other row. So three questions are enough:
is each acknowledged transaction in the journal, was each one in the journal sent, and is every row what the replay of
the journal makes it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from dbdyno.crash.acks import KINDS, History, Key, Sent
from dbdyno.crash.payload import payload
from dbdyno.model.crash import Damage, DamageKind

OPENING = 1000
"""What each account begins with."""
FILLER_BLOCKS = 12
PAGE_BLOCKS = 600
"""Of a long row before its first update."""
DAMAGES_MAX = 12
"""Damages of one state that are kept in words."""


@dataclass(frozen=True)
class Rows:
    """What was found, table by table, in the order of the columns."""

    journal: list[tuple[int, int, int, int, int, int]] = field(default_factory=list)
    """Client, number, kind, a, b, amount."""
    entries: list[tuple[int, int, int, str]] = field(default_factory=list)
    """Client, number, part, payload."""
    accounts: list[tuple[int, int, str]] = field(default_factory=list)
    """Number, balance, filler."""
    pages: list[tuple[int, int, int, str]] = field(default_factory=list)
    """Number, client and number of the last update, body."""


@dataclass(frozen=True)
class Dataset:
    accounts: int
    pages: int


@dataclass(frozen=True)
class Judgement:
    required: int
    lost: int
    lost_oldest_ms: float | None
    damages: tuple[Damage, ...]


def judge(history: History, dataset: Dataset, rows: Rows, *, flush: int | None, time_s: float) -> Judgement:
    """What is wrong after the power went at `time_s`, with `flush` the last flush that had been completed.

    An acknowledgement binds when it had arrived by then and its stamp is not later than that flush; `flush` None means
    that all stamps bind (the process died and the disk did not).
    """
    present = {(row[0], row[1]): row for row in rows.journal}
    bound = [sent for sent in history.values() if binds(sent, flush, time_s)]
    lost = [sent for sent in bound if sent.key not in present]
    damages = [
        *_twice("the journal", (row[:2] for row in rows.journal)),
        *_phantoms(history, present),
        *_losses(history, present, lost, time_s),
        *_entries(present, rows),
        *_accounts(dataset, present, rows),
        *_pages(dataset, present, rows),
    ]
    oldest = max(((time_s - sent.acked_s) * 1e3 for sent in lost), default=None)
    return Judgement(required=len(bound), lost=len(lost), lost_oldest_ms=oldest, damages=tuple(damages))


def disagreements(journal: Iterable[Key], logged: Collection[Key]) -> list[Damage]:
    """What the tables hold and the log that others read does not, and the reverse. The engine recovers from its own log
    and asks the other one which of its last transactions were committed, so both hold the same, if both were flushed.
    """
    tables, log = set(journal), set(logged)
    found = []
    for those, where in (
        (tables - log, "in the tables and not in the log"),
        (log - tables, "in the log and not in the tables"),
    ):
        if those:
            first = _name(min(those, key=lambda key: (key[1], key[0])))
            found.append(
                _damage(DamageKind.LOG, f"{len(those)} of {len(tables | log)} transactions are {where}: {first} …")
            )
    return found


def binds(sent: Sent, flush: int | None, time_s: float) -> bool:
    """Whether the transaction had to survive."""
    if sent.acked_flush is None or sent.acked_s > time_s:
        return False
    return flush is None or sent.acked_flush <= flush


def _name(key: tuple[int, ...]) -> str:
    return f"transaction {key[0]}/{key[1]}"


def _damage(kind: DamageKind, says: str) -> Damage:
    return Damage(kind=kind, says=says)


def _twice(where: str, keys: Iterable[tuple[int, ...]]) -> Iterator[Damage]:
    for key, times in Counter(keys).items():
        if times > 1:
            yield _damage(DamageKind.TORN, f"{'/'.join(map(str, key))} stands {times} times in {where}")


def _phantoms(history: History, present: Mapping[Key, tuple[int, ...]]) -> Iterator[Damage]:
    for key, row in present.items():
        sent = history.get(key)
        if sent is None:
            yield _damage(DamageKind.PHANTOM, f"{_name(key)} is there and was never sent")
        elif row[2:] != (KINDS.index(sent.kind) + 1, sent.a, sent.b, sent.amount):
            yield _damage(DamageKind.TORN, f"{_name(key)} is in the journal, but not as it was sent: {row[2:]}")


def _losses(history: History, present: Mapping[Key, object], lost: list[Sent], time_s: float) -> Iterator[Damage]:
    """A client sends one transaction after the other's acknowledgement: when a later one is there, so must all be that
    were acknowledged before it, whatever their stamps."""
    latest: dict[int, int] = {}
    for client, number in present:
        latest[client] = max(number, latest.get(client, 0))
    acked = (sent for sent in history.values() if sent.acked_flush is not None and sent.key not in present)
    holes = {sent.key for sent in acked if sent.number < latest.get(sent.client, 0)}
    for key in sorted(holes):
        later = _name((key[0], latest[key[0]]))
        yield _damage(DamageKind.HOLE, f"{_name(key)} ({history[key].kind}) is missing, while {later} is there")
    for sent in sorted(lost, key=lambda sent: sent.acked_s):
        if sent.key not in holes:
            age = f"acknowledged {(time_s - sent.acked_s) * 1e3:.1f} ms before the power went"
            yield _damage(DamageKind.LOST, f"{_name(sent.key)} ({sent.kind}), {age}, is missing")


def _entries(present: Mapping[Key, tuple[int, ...]], rows: Rows) -> Iterator[Damage]:
    """Rows of inserts: all of them or, once deleted, none; each with its payload."""
    yield from _twice("the entries", (row[:3] for row in rows.entries))
    found: dict[Key, dict[int, str]] = {}
    for client, number, part, text in rows.entries:
        found.setdefault((client, number), {})[part] = text
    deleted = {(row[0], row[3]): row for row in present.values() if row[2] == 4}
    for key, row in present.items():
        if row[2] != 1:
            continue
        parts = found.pop(key, {})
        if key in deleted:
            if parts:
                by = _name((deleted[key][0], deleted[key][1]))
                yield _damage(DamageKind.TORN, f"{len(parts)} rows of {_name(key)} are there, though {by} deleted them")
            continue
        wrong = sorted(part for part, text in parts.items() if text != payload(*key, part, row[4]))
        missing = sorted(set(range(1, row[3] + 1)) - set(parts))
        extra = sorted(set(parts) - set(range(1, row[3] + 1)))
        for what, those in (("missing", missing), ("not what was written", wrong), ("too many", extra)):
            if those:
                yield _damage(DamageKind.TORN, f"of the {row[3]} rows of {_name(key)}, {those} are {what}")
    for key, parts in found.items():
        yield _damage(DamageKind.TORN, f"{len(parts)} rows of {_name(key)} are there, the transaction is not")


def _accounts(dataset: Dataset, present: Mapping[Key, tuple[int, ...]], rows: Rows) -> Iterator[Damage]:
    expected = dict.fromkeys(range(1, dataset.accounts + 1), OPENING)
    for row in present.values():
        if row[2] == 2 and row[3] in expected and row[4] in expected:
            expected[row[3]] -= row[5]
            expected[row[4]] += row[5]
    yield from _twice("the accounts", ((row[0],) for row in rows.accounts))
    found = {account: (balance, filler) for account, balance, filler in rows.accounts}
    for account, balance in expected.items():
        if account not in found:
            yield _damage(DamageKind.TORN, f"account {account} is missing")
        elif found[account][0] != balance:
            yield _damage(
                DamageKind.TORN,
                f"account {account} holds {found[account][0]}, the transfers that are there make it {balance}",
            )
        elif found[account][1] != payload(0, 0, account, FILLER_BLOCKS):
            yield _damage(DamageKind.TORN, f"the text of account {account} is not what was written")
    for account in sorted(found.keys() - expected.keys()):
        yield _damage(DamageKind.PHANTOM, f"account {account} was never opened")
    money = sum(balance for balance, _ in found.values())
    if money != OPENING * dataset.accounts:
        yield _damage(DamageKind.INVARIANT, f"all accounts hold {money}, not {OPENING * dataset.accounts}")


def _pages(dataset: Dataset, present: Mapping[Key, tuple[int, ...]], rows: Rows) -> Iterator[Damage]:
    """Long rows: as the last update in the journal left them."""
    last: dict[int, tuple[int, ...]] = {}
    for row in sorted(present.values(), key=lambda row: row[1]):
        if row[2] == 3:
            last[row[3]] = row
    yield from _twice("the long rows", ((row[0],) for row in rows.pages))
    found = {page: (client, number, body) for page, client, number, body in rows.pages}
    for page in range(1, dataset.pages + 1):
        update = last.get(page, (0, 0, 3, page, PAGE_BLOCKS, 0))
        if page not in found:
            yield _damage(DamageKind.TORN, f"long row {page} is missing")
            continue
        client, number, body = found[page]
        if (client, number) != update[:2]:
            yield _damage(
                DamageKind.TORN,
                f"long row {page} was written by {_name((client, number))}, in the journal by {_name(update[:2])}",
            )
        elif body != payload(client, number, page, update[4]):
            yield _damage(DamageKind.TORN, f"the text of long row {page} is not what {_name((client, number))} wrote")
    for page in sorted(found.keys() - set(range(1, dataset.pages + 1))):
        yield _damage(DamageKind.PHANTOM, f"long row {page} was never written")


def shorten(damages: Iterable[Damage]) -> tuple[tuple[Damage, ...], int]:
    """A few of each kind, and how many were left out."""
    kept: list[Damage] = []
    seen: Counter[DamageKind] = Counter()
    total = 0
    for damage in damages:
        total += 1
        seen[damage.kind] += 1
        if seen[damage.kind] <= DAMAGES_MAX // 3 and len(kept) < DAMAGES_MAX:
            kept.append(damage)
    return tuple(kept), total - len(kept)
