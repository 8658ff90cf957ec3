"""HdrHistogram in the standard "V2 compressed" encoding: read, merged, asked for percentiles, written.

The format is that of the HdrHistogram project (`AbstractHistogram.encodeIntoCompressedByteBuffer`): base64 of a cookie,
a length and a zlib stream; inside it a 40-byte header and the counts as ZigZag LEB128 integers, where a negative
number stands for a run of zeros. Buckets are linear within a power of two, so that every value keeps `digits`
significant decimal digits. Values of the driver are nanoseconds (see the driver protocol).
"""

from __future__ import annotations

import base64
import binascii
import math
import struct
import zlib
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dbdyno.model.errors import RecordError

_COOKIE_PLAIN = 0x1C849303
_COOKIE_COMPRESSED = 0x1C849304
_COOKIE_WORD_SIZE = 0x10
_HEADER = struct.Struct(">iiiiqqd")
_LEB128_BYTES_MAX = 9
_COUNTS_MAX = 1 << 22
"""More buckets than any sane layout has: a damaged record must not make us allocate without limit."""

Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Layout:
    """How values fall into buckets. Histograms of one layout can be added up."""

    lowest: int
    """Lowest discernible value, nanoseconds."""
    highest: int
    digits: int

    @property
    def unit_magnitude(self) -> int:
        return math.floor(math.log2(self.lowest))

    @property
    def half_magnitude(self) -> int:
        return max(math.ceil(math.log2(2 * 10**self.digits)), 1) - 1

    def edges(self, buckets: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Lowest value of each bucket and the width of it, nanoseconds."""
        index = np.arange(buckets, dtype=np.int64)
        half = np.int64(1) << self.half_magnitude
        octave = (index >> self.half_magnitude) - 1
        within = (index & (half - 1)) + half
        within = np.where(octave < 0, within - half, within)
        scale = np.exp2(np.maximum(octave, 0) + self.unit_magnitude)
        return within * scale, scale

    def index_of(self, value_ns: int) -> int:
        """Bucket of a value."""
        magnitude = self.half_magnitude + 1
        octave = max(value_ns.bit_length() - self.unit_magnitude - magnitude, 0)
        within = value_ns >> (octave + self.unit_magnitude)
        return ((octave + 1) << self.half_magnitude) + within - (1 << self.half_magnitude)

    def same(self, other: Layout) -> bool:
        return (self.unit_magnitude, self.half_magnitude) == (other.unit_magnitude, other.half_magnitude)


DRIVER_LAYOUT = Layout(lowest=1_000, highest=3_600_000_000_000, digits=3)
"""Of the driver protocol: 1 microsecond to one hour in nanoseconds."""


@dataclass(frozen=True, eq=False)
class Histogram:
    """Counts by bucket; empty tail buckets are cut off."""

    layout: Layout
    counts: Counts

    @property
    def count(self) -> int:
        return int(self.counts.sum())

    @property
    def mean_us(self) -> float:
        """Mean of the buckets' middles, microseconds; NaN when empty."""
        if not self.count:
            return math.nan
        low, width = self.layout.edges(len(self.counts))
        return float(self.counts @ (low + np.floor(width / 2)) / self.count / 1e3)

    @property
    def max_us(self) -> float:
        """Highest value that the last bucket may hold, microseconds; NaN when empty."""
        return self.percentile_us(100.0)

    def percentile_us(self, percent: float) -> float:
        """Highest value, in microseconds, of the bucket that holds the percentile; NaN when empty.

        As HdrHistogram's own `getValueAtPercentile`: the smallest value such that at least `percent` of all are not
        larger.
        """
        total = self.count
        if not total:
            return math.nan
        # One step below keeps 99.9 % of 1000 at 999 in spite of the rounding of 99.9 / 100.
        wanted = max(1, math.ceil(math.nextafter(percent, 0.0) / 100.0 * total))
        index = int(np.searchsorted(np.cumsum(self.counts), min(wanted, total)))
        low, width = self.layout.edges(index + 1)
        return float(low[index] + width[index] - 1) / 1e3

    def percentiles_us(self, percents: Iterable[float]) -> dict[float, float]:
        return {percent: self.percentile_us(percent) for percent in percents}

    def fraction_above(self, limit_us: float) -> float:
        """Share of the values in buckets that begin above the limit; NaN when empty."""
        if not self.count:
            return math.nan
        low, _ = self.layout.edges(len(self.counts))
        return float(self.counts[low > limit_us * 1e3].sum() / self.count)

    def merge(self, *others: Histogram) -> Histogram:
        """All of them together. Raises `RecordError` when the bucket layouts differ."""
        for other in others:
            if not self.layout.same(other.layout):
                raise RecordError(
                    "Histograms with different bucket layouts cannot be merged.",
                    found=f"{_describe(self.layout)} and {_describe(other.layout)}",
                    todo="compare runs of one driver version",
                )
        total = np.zeros(max(len(each.counts) for each in (self, *others)), dtype=np.int64)
        for each in (self, *others):
            total[: len(each.counts)] += each.counts
        return Histogram(self.layout, total)

    def spectrum(self) -> tuple[NDArray[np.float64], Counts]:
        """For plots: middle of every bucket that is not empty, microseconds, and its count."""
        full = np.flatnonzero(self.counts)
        low, width = self.layout.edges(len(self.counts))
        return (low[full] + np.floor(width[full] / 2)) / 1e3, self.counts[full]


def empty(layout: Layout = DRIVER_LAYOUT) -> Histogram:
    return Histogram(layout, np.zeros(0, dtype=np.int64))


def from_values_us(values: Iterable[float], layout: Layout = DRIVER_LAYOUT) -> Histogram:
    """A histogram of plain values in microseconds."""
    indices = [layout.index_of(min(max(round(value * 1e3), 0), layout.highest)) for value in values]
    return Histogram(layout, np.bincount(np.array(indices, dtype=np.int64)).astype(np.int64))


def merged(encoded: Iterable[str]) -> Histogram:
    """Decodes and merges; empty strings are skipped. An empty histogram when there is none."""
    histograms = [decode(text) for text in encoded if text]
    return histograms[0].merge(*histograms[1:]) if histograms else empty()


def decode(hdr: str) -> Histogram:
    """Reads base64 text; an empty string is an empty histogram. Raises `RecordError` when it is damaged."""
    if not hdr:
        return empty()
    try:
        raw = base64.b64decode(hdr, validate=True)
        cookie, length = struct.unpack_from(">ii", raw)
        _require(cookie, _COOKIE_COMPRESSED)
        payload = zlib.decompress(raw[8 : 8 + length])
        cookie, size, offset, digits, lowest, highest, _ratio = _HEADER.unpack_from(payload)
        _require(cookie, _COOKIE_PLAIN)
        if offset or not 0 <= digits <= 5 or lowest < 1 or size != len(payload) - _HEADER.size:
            raise ValueError(f"header with offset {offset}, digits {digits}, lowest {lowest}, {size} bytes")
        counts = _counts(np.frombuffer(payload, dtype=np.uint8, offset=_HEADER.size))
    except (binascii.Error, struct.error, zlib.error, ValueError) as error:
        raise RecordError("A latency histogram cannot be read.", found=str(error)) from error
    return Histogram(Layout(lowest, highest, digits), counts)


def encode(histogram: Histogram) -> str:
    """Base64 text that every HdrHistogram reader takes."""
    body = bytearray()
    zeros = 0
    for count in histogram.counts.tolist():
        if count == 0:
            zeros += 1
            continue
        if zeros:
            body += _leb128(-zeros)
            zeros = 0
        body += _leb128(count)
    layout = histogram.layout
    header = _HEADER.pack(
        _COOKIE_PLAIN | _COOKIE_WORD_SIZE, len(body), 0, layout.digits, layout.lowest, layout.highest, 1.0
    )
    packed = zlib.compress(header + bytes(body))
    return base64.b64encode(struct.pack(">ii", _COOKIE_COMPRESSED | _COOKIE_WORD_SIZE, len(packed)) + packed).decode()


def _require(cookie: int, base: int) -> None:
    # The second lowest hexadecimal digit holds the word size of older writers and says nothing in V2.
    if cookie & ~0xF0 != base & ~0xF0:
        raise ValueError(f"not a V2 histogram: cookie {cookie & 0xFFFFFFFF:#x}")


def _describe(layout: Layout) -> str:
    return f"lowest {layout.lowest}, {layout.digits} digits"


def _leb128(number: int) -> bytes:
    zigzag = ((number << 1) ^ (number >> 63)) & 0xFFFFFFFFFFFFFFFF
    out = bytearray()
    while zigzag > 0x7F and len(out) < _LEB128_BYTES_MAX - 1:
        out.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    out.append(zigzag & 0xFF)
    return bytes(out)


def _counts(data: NDArray[np.uint8]) -> Counts:
    """Expands ZigZag LEB128 numbers into bucket counts, all at once."""
    if not len(data):
        return np.zeros(0, dtype=np.int64)
    ends, places = _boundaries(data)
    if ends[-1] != len(data) - 1:
        raise ValueError("the last number is cut off")
    # The ninth byte of a number carries eight bits, every other one seven.
    bits = np.where(places < _LEB128_BYTES_MAX - 1, data & 0x7F, data).astype(np.uint64)
    starts = np.concatenate(([0], ends[:-1] + 1))
    zigzag = np.add.reduceat(bits << (7 * places).astype(np.uint64), starts)
    numbers = (zigzag >> np.uint64(1)).astype(np.int64) ^ -(zigzag & np.uint64(1)).astype(np.int64)
    steps = np.where(numbers < 0, -numbers, 1)
    if int(steps.max()) > _COUNTS_MAX or int(steps.sum()) > _COUNTS_MAX:
        raise ValueError(f"{int(steps.sum())} buckets")
    counts = np.zeros(int(steps.sum()), dtype=np.int64)
    positive = numbers > 0
    counts[(np.cumsum(steps) - 1)[positive]] = numbers[positive]
    last = np.flatnonzero(counts)
    return counts[: last[-1] + 1] if len(last) else counts[:0]


def _boundaries(data: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Index of each number's last byte, and each byte's place within its number."""
    index = np.arange(len(data), dtype=np.int64)
    last = data < 0x80
    ends = np.flatnonzero(last)
    starts = np.concatenate(([0], ends + 1))
    places = index - starts[np.searchsorted(starts, index, side="right") - 1]
    if int(places.max()) < _LEB128_BYTES_MAX - 1:
        return ends.astype(np.int64), places
    # A number of nine bytes (a count beyond 2^55) may have the top bit set in its last byte: count byte by byte.
    place = 0
    slow_ends: list[int] = []
    for at, byte in enumerate(data.tolist()):
        places[at] = place
        if byte < 0x80 or place == _LEB128_BYTES_MAX - 1:
            slow_ends.append(at)
            place = 0
        else:
            place += 1
    if not slow_ends:
        raise ValueError("the last number is cut off")
    return np.array(slow_ends, dtype=np.int64), places
