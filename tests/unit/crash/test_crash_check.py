"""The check of a crash state: silent where nothing is wrong, and never silent where something is."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from ledger import DATASET, STEP_S, history, rows

from dbdyno.crash.acks import KINDS, History, Key
from dbdyno.crash.check import DAMAGES_MAX, Judgement, Rows, disagreements, judge, shorten
from dbdyno.model.crash import Damage, DamageKind

ALL = history(
    [
        (1, "insert", 0), (2, "transfer", 3), (1, "update", 1), (2, "insert", 2), (1, "delete", 0), (3, "update", 5),
        (2, "transfer", 1), (1, "insert", 4), (3, "transfer", 2), (2, "update", 7),
    ]
)  # fmt: skip
END_S = 1.0

PLANS = some.lists(
    some.tuples(some.integers(1, 3), some.sampled_from(KINDS), some.integers(0, 50)), min_size=1, max_size=25
)


def look(found: Rows, *, flush: int | None = None, time_s: float = END_S, sent: History = ALL) -> Judgement:
    return judge(sent, DATASET, found, flush=flush, time_s=time_s)


def kinds(judgement: Judgement) -> set[DamageKind]:
    return {damage.kind for damage in judgement.damages}


def test_all_there() -> None:
    judgement = look(rows(ALL, ALL))
    assert judgement == Judgement(required=len(ALL), lost=0, lost_oldest_ms=None, damages=())


@given(PLANS, some.integers(0, 25))
@settings(deadline=None, max_examples=30)
def test_any_end_of_the_journal_is_a_tail(plan: list[tuple[int, str, int]], kept: int) -> None:
    """A crash keeps the first so many: what is required is not more than those covered by the flush, the others may be
    gone, and nothing else is wrong."""
    sent = history(plan)
    there = list(sent)[:kept]
    judgement = look(rows(sent, there), flush=len(there), sent=sent)
    assert judgement.damages == ()
    assert judgement.required == len(there)


@given(PLANS, some.data())
@settings(deadline=None, max_examples=30)
def test_a_lost_acknowledgement_is_seen(plan: list[tuple[int, str, int]], data: some.DataObject) -> None:
    sent = history(plan)
    gone = data.draw(some.sampled_from(sorted(sent)))
    # Of a client, all that came later is gone, too: so it is a tail. What others did stays.
    there = [key for key in sent if key[0] != gone[0] or key[1] < gone[1]]
    judgement = look(rows(sent, there), sent=sent)
    assert judgement.lost == len(sent) - len(there) >= 1
    assert kinds(judgement) == {DamageKind.LOST}
    acked_s = sent[gone].acked_s
    assert judgement.lost_oldest_ms == pytest.approx((END_S - acked_s) * 1e3)


@given(PLANS, some.data())
@settings(deadline=None, max_examples=30)
def test_a_hole_is_no_tail(plan: list[tuple[int, str, int]], data: some.DataObject) -> None:
    sent = history([*plan, (1, "insert", 1), (1, "transfer", 1), (1, "transfer", 2)])
    numbers = sorted(number for client, number in sent if client == 1)
    gone = (1, data.draw(some.sampled_from(numbers[:-1])))
    # A later delete of its rows would have nothing to delete: that is a trace of the hole and no more.
    there = [key for key in sent if key != gone]
    assert DamageKind.HOLE in kinds(look(rows(sent, there), sent=sent))


@given(PLANS, some.data())
@settings(deadline=None, max_examples=80)
def test_no_row_can_be_changed_unseen(plan: list[tuple[int, str, int]], data: some.DataObject) -> None:
    """One row of any table removed, doubled or altered in any column."""
    sent = history(plan)
    sound = rows(sent, sent)
    table = data.draw(some.sampled_from([name for name in ("journal", "entries", "accounts", "pages")
                                         if getattr(sound, name)]))  # fmt: skip
    lines: list[tuple[object, ...]] = list(getattr(sound, table))
    at = data.draw(some.integers(0, len(lines) - 1))
    match data.draw(some.sampled_from(["removed", "doubled", "altered"])):
        case "removed":
            del lines[at]
        case "doubled":
            lines.append(lines[at])
        case "altered":
            column = data.draw(some.integers(0, len(lines[at]) - 1))
            value = lines[at][column]
            other = value + 1 if isinstance(value, int) else "0" + str(value)[:-1] + "x"
            lines[at] = (*lines[at][:column], other, *lines[at][column + 1 :])
    damaged = replace(sound, **{table: lines})
    assert look(damaged, sent=sent).damages


def test_unacknowledged_ones_may_be_whole_or_absent() -> None:
    last = max(ALL, key=lambda key: ALL[key].acked_s)
    sent = {**ALL, last: replace(ALL[last], acked_flush=None)}
    for there in (list(ALL), [key for key in ALL if key != last]):
        judgement = look(rows(sent, there), sent=sent)
        assert (judgement.damages, judgement.required) == ((), len(ALL) - 1)


def test_half_of_an_unacknowledged_one_is_torn() -> None:
    key = next(key for key in ALL if ALL[key].kind == "insert" and key[0] == 2)
    sent = {**ALL, key: replace(ALL[key], acked_flush=None)}
    sound = rows(sent, ALL)
    for half in (
        replace(sound, entries=[row for row in sound.entries if row[:3] != (*key, 1)]),
        replace(sound, journal=[row for row in sound.journal if row[:2] != key]),
    ):
        assert DamageKind.TORN in kinds(look(half, sent=sent))


def test_what_no_one_sent_is_a_phantom() -> None:
    sound = rows(ALL, ALL)
    judgement = look(replace(sound, journal=[*sound.journal, (9, 1, 2, 1, 2, 0)]))
    assert kinds(judgement) == {DamageKind.PHANTOM}


def test_only_what_was_acknowledged_before_the_power_went_binds() -> None:
    half_s = 5.2 * STEP_S
    before = [key for key in ALL if ALL[key].acked_s <= half_s]
    assert look(rows(ALL, before), time_s=half_s).damages == ()
    assert look(rows(ALL, before[:-1]), time_s=half_s).lost == 1


def test_only_what_the_flush_covers_binds() -> None:
    first: list[Key] = list(ALL)[:4]
    assert look(rows(ALL, first), flush=4).damages == ()
    assert look(rows(ALL, first), flush=5).lost == 1


def test_long_lists_are_shortened() -> None:
    many = [Damage(kind=DamageKind.LOST, says=str(number)) for number in range(50)]
    kept, left_out = shorten([*many, Damage(kind=DamageKind.TORN, says="torn")])
    assert len(kept) <= DAMAGES_MAX
    assert kept[-1].says == "torn"
    assert left_out + len(kept) == 51


def test_both_logs_hold_the_same_or_it_is_said() -> None:
    assert disagreements([(1, 1), (1, 2)], {(1, 2), (1, 1)}) == []
    behind, ahead = disagreements([(1, 1), (2, 1), (2, 2)], {(2, 1), (3, 1)})
    assert behind.kind is ahead.kind is DamageKind.LOG
    assert behind.says.startswith("2 of 4 transactions are in the tables and not in the log: transaction 1/1")
    assert ahead.says.startswith("1 of 4 transactions are in the log and not in the tables: transaction 3/1")
