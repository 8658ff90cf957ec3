"""The histogram reader against encodings that were made by hand from the format's description."""

from __future__ import annotations

import base64
import json
import math
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbdyno.model.errors import RecordError
from dbdyno.stats import histogram
from dbdyno.stats.histogram import Layout, decode, encode, from_values_us, merged


def by_hand(body: bytes, lowest: int = 1000, highest: int = 3_600_000_000_000, digits: int = 3) -> str:
    header = struct.pack(">iiiiqqd", 0x1C849313, len(body), 0, digits, lowest, highest, 1.0)
    packed = zlib.compress(header + body)
    return base64.b64encode(struct.pack(">ii", 0x1C849314, len(packed)) + packed).decode()


def test_zeros_are_skipped_and_counts_are_read() -> None:
    # Zigzag: -3 is 5, 1 is 2, 300 is 600 = 0xD8 0x04, -200 is 399 = 0x8F 0x03.
    found = decode(by_hand(bytes([0x05, 0x02, 0xD8, 0x04, 0x8F, 0x03, 0x02])))
    expected = np.zeros(3 + 1 + 1 + 200 + 1, dtype=np.int64)
    expected[[3, 4, 205]] = 1, 300, 1
    assert found.counts.tolist() == expected.tolist()
    assert found.count == 302


def test_values_of_buckets_follow_the_layout() -> None:
    # With lowest 1 and three digits, 2048 values stand alone, then two share a bucket.
    layout = Layout(lowest=1, highest=3_600_000_000, digits=3)
    low, width = layout.edges(2048 + 1024 + 1)
    assert low[2047] == 2047
    assert width[2047] == 1
    assert low[2048] == 2048
    assert width[2048] == 2
    assert low[3072] == 4096
    assert width[3072] == 4
    for value in (0, 1, 2047, 2048, 2049, 4095, 4096, 123_456_789):
        at = layout.index_of(value)
        low, width = layout.edges(at + 1)
        assert low[at] <= value < low[at] + width[at]


def test_lowest_value_of_the_driver_gives_half_microsecond_buckets() -> None:
    low, width = histogram.DRIVER_LAYOUT.edges(3)
    assert low.tolist() == [0, 512, 1024]
    assert set(width) == {512}


@pytest.mark.parametrize(("percent", "value"), [(0, 1), (50, 500), (90, 900), (99, 990), (99.9, 999), (100, 1000)])
def test_percentiles_of_one_to_a_thousand(percent: float, value: int) -> None:
    found = from_values_us(range(1, 1001))
    assert found.percentile_us(percent) == pytest.approx(value, abs=0.6)


def test_percentile_is_the_buckets_highest_value() -> None:
    found = decode(by_hand(bytes([0x05, 0x02]), lowest=1))
    assert found.percentile_us(50) == 0.003
    assert found.max_us == 0.003


def test_an_empty_one_has_no_percentiles() -> None:
    assert decode("").count == 0
    assert decode(by_hand(b"")).count == 0
    assert math.isnan(decode("").percentile_us(99))
    assert math.isnan(decode("").mean_us)


def test_counts_of_nine_bytes() -> None:
    huge = (1 << 62) + 12345
    found = decode(encode(histogram.Histogram(histogram.DRIVER_LAYOUT, np.array([0, 7, huge, 3], dtype=np.int64))))
    assert found.counts.tolist() == [0, 7, huge, 3]


@pytest.mark.parametrize(
    "damaged",
    [
        "no base64!",
        base64.b64encode(b"short").decode(),
        base64.b64encode(struct.pack(">ii", 0x1C849314, 5) + b"12345").decode(),
        base64.b64encode(struct.pack(">ii", 0x1C849301, 0)).decode(),
        by_hand(bytes([0x02, 0x80])),
        by_hand(bytes([0xFF] * 9)),
        by_hand(bytes([0x02]), digits=9),
        by_hand(bytes([0x02]), lowest=0),
    ],
)
def test_damage_is_an_error_of_the_record(damaged: str) -> None:
    with pytest.raises(RecordError):
        decode(damaged)


def test_layouts_must_agree() -> None:
    with pytest.raises(RecordError, match="merged"):
        from_values_us([1.0]).merge(from_values_us([1.0], Layout(lowest=1, highest=10**9, digits=2)))


microseconds = st.lists(st.floats(min_value=1, max_value=1e9), max_size=60)


@given(microseconds)
def test_what_is_encoded_comes_back(values: list[float]) -> None:
    made = from_values_us(values)
    assert decode(encode(made)).counts.tolist() == made.counts.tolist()


@given(microseconds, microseconds, microseconds)
def test_merging_is_associative_and_equals_recording_together(a: list[float], b: list[float], c: list[float]) -> None:
    x, y, z = from_values_us(a), from_values_us(b), from_values_us(c)
    left, right = x.merge(y).merge(z), x.merge(y.merge(z))
    together = from_values_us([*a, *b, *c])
    assert left.counts.tolist() == right.counts.tolist() == together.counts.tolist()
    assert merged([encode(x), "", encode(y), encode(z)]).count == len(a) + len(b) + len(c)


@given(st.lists(st.floats(min_value=1, max_value=1e9), min_size=1, max_size=60), st.floats(min_value=0, max_value=100))
def test_a_percentile_keeps_three_digits(values: list[float], percent: float) -> None:
    exact = sorted(values)[max(1, math.ceil(percent / 100 * len(values))) - 1]
    found = from_values_us(values).percentile_us(percent)
    assert found == pytest.approx(exact, rel=1e-3, abs=0.6) or percent * len(values) / 100 % 1 < 1e-6


def test_mean_and_share_above_a_limit() -> None:
    found = from_values_us([100.0] * 9 + [10_000.0])
    assert found.mean_us == pytest.approx(1090, rel=1e-3)
    assert found.fraction_above(1000) == pytest.approx(0.1)
    middles, counts = found.spectrum()
    assert counts.tolist() == [9, 1]
    assert middles == pytest.approx([100, 10_000], rel=1e-3)


def test_the_drivers_own_histograms_give_the_drivers_own_figures() -> None:
    """Two intervals and the summary of a real run, whose percentiles the driver computed with its own library."""
    recorded = json.loads((Path(__file__).parents[2] / "fixtures" / "histograms.json").read_text())
    percents = {"p50_us": 50, "p90_us": 90, "p95_us": 95, "p99_us": 99, "p999_us": 99.9}
    for event in [*recorded["interval"], recorded["summary"]]:
        for times in (event["response"], event["service"]):
            found = decode(times["hdr"])
            assert found.count == times["count"]
            assert found.mean_us == pytest.approx(times["mean_us"], abs=1e-3)
            assert found.max_us == times["max_us"]
            for name, percent in percents.items():
                assert found.percentile_us(percent) == times[name]
    together = merged(event["response"]["hdr"] for event in recorded["interval"])
    assert together.counts.tolist() == decode(recorded["summary"]["response"]["hdr"]).counts.tolist()
