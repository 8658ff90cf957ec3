"""A ledger in memory: transactions as clients would send them, and the rows that a sound server would have of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dbdyno.crash.acks import KINDS, History, Key, Sent
from dbdyno.crash.check import FILLER_BLOCKS, OPENING, PAGE_BLOCKS, Dataset, Rows
from dbdyno.crash.payload import payload

DATASET = Dataset(accounts=6, pages=4)
STEP_S = 0.010


def history(kinds: Sequence[tuple[int, str, int]]) -> History:
    """Transactions in the order of their acknowledgements: client, kind, a number to vary them. Each flush ends one;
    the first flush is number 1."""
    found: History = {}
    inserts: dict[int, list[int]] = {}
    for order, (client, wished, vary) in enumerate(kinds, start=1):
        number = 1 + max((key[1] for key in found if key[0] == client), default=0)
        a, b, amount = 2 + vary % 3, 4 + vary % 5, 0
        kind = "insert" if wished == "delete" and not inserts.get(client) else wished
        if kind == "insert":
            inserts.setdefault(client, []).append(number)
        elif kind == "delete":
            a, b = inserts[client].pop(0), 0
        elif kind == "transfer":
            a = 1 + vary % DATASET.accounts
            b = 1 + (a + vary % (DATASET.accounts - 1)) % DATASET.accounts
            amount = 1 + vary
        else:
            # A client has long rows of its own.
            a, b = 1 + client % DATASET.pages, 600 + vary
        found[client, number] = Sent(
            client=client, number=number, kind=kind, a=a, b=b, amount=amount,
            sent_s=order * STEP_S, acked_flush=order, acked_s=(order + 0.5) * STEP_S,
        )  # fmt: skip
    return found


def rows(sent: History, present: Iterable[Key]) -> Rows:
    """What a sound server has when these transactions are there and no others."""
    there = [sent[key] for key in sent if key in set(present)]
    balances = dict.fromkeys(range(1, DATASET.accounts + 1), OPENING)
    entries: dict[Key, list[tuple[int, int, int, str]]] = {}
    pages = {page: (page, 0, 0, payload(0, 0, page, PAGE_BLOCKS)) for page in range(1, DATASET.pages + 1)}
    for one in there:
        if one.kind == "insert":
            texts = [(part, payload(*one.key, part, one.b)) for part in range(1, one.a + 1)]
            entries[one.key] = [(*one.key, part, text) for part, text in texts]
        elif one.kind == "delete":
            entries.pop((one.client, one.a), None)
        elif one.kind == "transfer":
            balances[one.a] -= one.amount
            balances[one.b] += one.amount
        else:
            pages[one.a] = (one.a, *one.key, payload(*one.key, one.a, one.b))
    return Rows(
        journal=[(*one.key, KINDS.index(one.kind) + 1, one.a, one.b, one.amount) for one in there],
        entries=[row for part in entries.values() for row in part],
        accounts=[(account, balance, payload(0, 0, account, FILLER_BLOCKS)) for account, balance in balances.items()],
        pages=list(pages.values()),
    )
