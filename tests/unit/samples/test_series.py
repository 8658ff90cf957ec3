"""Counters become rates; resets, gaps and unanswered questions become holes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dbdyno.model.probe import Column, ColumnKind, Probe, Sample
from dbdyno.samples.series import SampleStore, server_throughput

LOG = Probe(
    name="log",
    title="t",
    columns=(
        Column(name="bytes", kind=ColumnKind.COUNTER, unit="B", role="wal_bytes"),
        Column(name="depth", kind=ColumnKind.GAUGE),
    ),
)
WAITS = Probe(
    name="waits",
    title="t",
    columns=(
        Column(name="kind", kind=ColumnKind.KEY),
        Column(name="event", kind=ColumnKind.KEY),
        Column(name="count", kind=ColumnKind.GAUGE, role="waiting"),
    ),
)


def log(t_s: float, value: int | None, depth: int = 0) -> Sample:
    if value is None:
        return Sample(t_s=t_s, probe="log", unknown="lost")
    return Sample(t_s=t_s, probe="log", rows=({"bytes": value, "depth": depth},))


def rates(*samples: Sample) -> list[float]:
    return SampleStore([LOG], samples).series("log", "bytes").values.tolist()


def test_a_counter_becomes_a_rate_at_the_later_time() -> None:
    series = SampleStore([LOG], [log(0, 100), log(1, 150), log(3, 350)]).series("log", "bytes")
    assert series.t_s.tolist() == [1, 3]
    assert series.values.tolist() == [50, 100]
    assert series.unit == "B/s"


def test_a_gauge_stays_and_raw_counters_can_be_had() -> None:
    store = SampleStore([LOG], [log(0, 100, 7), log(1, 150, 9)])
    assert store.series("log", "depth").values.tolist() == [7, 9]
    assert store.series("log", "bytes", rate=False).values.tolist() == [100, 150]


def test_a_reset_is_a_hole_and_not_a_negative_rate() -> None:
    found = rates(log(0, 100), log(1, 150), log(2, 10), log(3, 30))
    assert found[0] == 50
    assert math.isnan(found[1])
    assert found[2] == 20
    assert SampleStore([LOG], [log(0, 100), log(1, 50)]).resets("log") == [1.0]


def test_a_gap_and_an_unanswered_question_are_holes() -> None:
    assert math.isnan(rates(log(0, 0), log(1, 10), log(2, 20), log(9, 90))[-1])
    found = rates(log(0, 0), log(1, 10), log(2, None), log(3, 30), log(4, 40))
    assert [math.isnan(one) for one in found] == [False, True, True, False]


def test_samples_may_come_in_any_order() -> None:
    assert rates(log(2, 30), log(0, 0), log(1, 10)) == [10, 20]


def test_keys_pick_rows_or_all_are_summed() -> None:
    first = Sample(t_s=0, probe="waits", rows=({"kind": "IO", "event": "read", "count": 3},
                                               {"kind": "IO", "event": "sync", "count": 2},
                                               {"kind": "Lock", "event": "row", "count": 1}))  # fmt: skip
    store = SampleStore([WAITS], [first, Sample(t_s=1, probe="waits", rows=())])
    assert store.keys("waits") == ["IO/read", "IO/sync", "Lock/row"]
    assert store.series("waits", "count").values.tolist() == [6, 0]
    assert store.series("waits", "count", "IO/read").values.tolist() == [3, 0]
    assert store.series("waits", "count", {"kind": "IO"}).values.tolist() == [5, 0]


def test_roles_find_columns_without_names() -> None:
    store = SampleStore([LOG, WAITS], [log(0, 0), log(1, 5)])
    assert store.find_role("wal_bytes") == ("log", "bytes")
    series = store.by_role("wal_bytes")
    assert series is not None
    assert series.values.tolist() == [5]
    assert store.by_role("nobody") is None


def test_increase_interpolates_at_the_edges() -> None:
    store = SampleStore([LOG], [log(t, 100 * t) for t in range(11)])
    assert store.increase("log", "bytes", 2.5, 7.25) == pytest.approx(475)


def test_increase_is_unknown_over_a_reset_or_without_answers() -> None:
    fell = SampleStore([LOG], [log(t, 100 * t if t < 5 else t) for t in range(11)])
    assert fell.increase("log", "bytes", 2, 8) is None
    assert fell.increase("log", "bytes", 6, 8) == pytest.approx(2)
    ended = SampleStore([LOG], [log(t, t) for t in range(5)])
    assert ended.increase("log", "bytes", 1, 30) is None
    assert SampleStore([LOG], []).increase("log", "bytes", 0, 1) is None


def test_what_is_not_in_the_record_is_empty() -> None:
    store = SampleStore([LOG], [])
    assert store.series("log", "nothing").values.size == 0
    assert store.series("nothing", "x").values.size == 0
    assert store.probes() == []
    assert math.isnan(store.series("log", "bytes").mean())


def test_unknown_tells_the_last_reason_only() -> None:
    assert SampleStore([LOG], [log(0, 1), log(1, None)]).unknown() == {"log": "lost"}
    assert SampleStore([LOG], [log(0, None), log(1, 5)]).unknown() == {}


def test_a_column_with_a_word_in_it_is_no_number() -> None:
    odd = Sample(t_s=0, probe="log", rows=({"bytes": None, "depth": 1},))
    assert np.isnan(SampleStore([LOG], [odd]).series("log", "bytes", rate=False).values).all()


@pytest.mark.parametrize(("committed", "expected"), [(50, 50.0), (0, 1000.0)])
def test_statements_stand_for_commits_where_those_are_not_counted(committed: int, expected: float) -> None:
    columns = (
        Column(name="commits", kind=ColumnKind.COUNTER, role="commits"),
        Column(name="statements", kind=ColumnKind.COUNTER, role="statements"),
    )
    probe = Probe(name="server", title="t", columns=columns)
    samples = [
        Sample(t_s=float(t), probe="server", rows=({"commits": t * committed, "statements": t * 1000},))
        for t in range(5)
    ]
    found = server_throughput(SampleStore([probe], samples))
    assert found is not None
    assert found.mean() == expected
