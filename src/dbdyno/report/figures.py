"""Numbers as words: three significant digits, narrow spaces between thousands, units that fit.

Thousands are parted by U+202F (narrow no-break space), as ISO 80000-1 recommends a thin space; a number and its unit
by U+00A0, so that neither breaks across lines.
"""

from __future__ import annotations

import math
from collections.abc import Callable

THIN = "\u202f"
HARD = "\u00a0"
NONE = "–"
"""What stands where there is no number."""
WIDE = 20.0
"""An interval whose ends differ by more than this factor says nothing but that the pairs were too few."""

_BYTES = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def grouped(value: int) -> str:
    """A whole number with thin spaces between thousands, minus sign as U+2212: exact."""
    text = f"{abs(value):,}".replace(",", THIN)
    return f"−{text}" if value < 0 else text


def number(value: float | None, digits: int = 3) -> str:
    """Rounds to significant digits; a dash for no number."""
    if value is None or not math.isfinite(value):
        return NONE
    if value == 0:
        return "0"
    # The power of ten after rounding: 999.6 is 1.00e+03.
    scientific = f"{value:.{digits - 1}e}"
    rounded, places = float(scientific), digits - 1 - int(scientific.partition("e")[2])
    if places <= 0:
        return grouped(int(rounded))
    if abs(rounded) < 1e-6:
        return scientific
    whole, _, rest = f"{abs(rounded):.{places}f}".partition(".")
    text = f"{int(whole):,}".replace(",", THIN) + (f".{rest}" if rest else "")
    return f"−{text}" if rounded < 0 else text


def size(value: float | None) -> str:
    """Bytes with a binary prefix."""
    if value is None or not math.isfinite(value):
        return NONE
    step = 0
    while abs(value) >= 999.5 and step < len(_BYTES) - 1:
        value /= 1024
        step += 1
    return f"{number(value)}{HARD}{_BYTES[step]}"


def seconds(value: float | None) -> str:
    """A stretch of time: µs, ms, s, then minutes and hours."""
    if value is None or not math.isfinite(value):
        return NONE
    magnitude = abs(value)
    if magnitude >= 3600:
        rest = int(value % 3600 // 60)
        return f"{int(value // 3600)}{HARD}h" + (f" {rest}{HARD}min" if rest else "")
    if magnitude >= 120:
        rest = int(value % 60)
        return f"{int(value // 60)}{HARD}min" + (f" {rest}{HARD}s" if rest else "")
    if magnitude >= 1 or magnitude == 0:
        return f"{grouped(int(value)) if float(value).is_integer() else number(value)}{HARD}s"
    if magnitude >= 1e-3:
        return f"{number(value * 1e3)}{HARD}ms"
    return f"{number(value * 1e6)}{HARD}µs"


def milliseconds(value_ms: float | None) -> str:
    """A latency, always in ms up to 10 s, so that a row of them can be compared by eye."""
    if value_ms is None or not math.isfinite(value_ms):
        return NONE
    if abs(value_ms) >= 10_000:
        return f"{number(value_ms / 1e3)}{HARD}s"
    return f"{number(value_ms)}{HARD}ms"


def percent(fraction: float | None, *, signed: bool = False) -> str:
    """A fraction as per cent."""
    if fraction is None or not math.isfinite(fraction):
        return NONE
    text = number(fraction * 100, 2 if abs(fraction) < 0.1 else 3)
    if signed and fraction > 0:
        text = f"+{text}"
    return f"{text}{HARD}%"


def ratio(value: float | None) -> str:
    """A ratio with two decimals (three digits above ten), with a multiplication sign."""
    if value is None or not math.isfinite(value):
        return NONE
    return f"{value:.2f}{HARD}×" if abs(value) < 10 else f"{number(value)}{HARD}×"


def plain_ratio(value: float | None) -> str:
    """A ratio without the sign, for the ends of an interval."""
    return ratio(value).removesuffix(f"{HARD}×")


def interval(low: float, high: float) -> str:
    """An interval of ratios; in words where all that it says is that the pairs were too few."""
    return "too wide to say" if low * WIDE < high and low < 1 < high else f"{plain_ratio(low)} … {plain_ratio(high)}"


def quantity(value: float | None, unit: str) -> str:
    """A number in a unit by the unit's name: `bytes`, `s`, `ms`, `us`, `fraction`, others as they are."""
    special: dict[str, Callable[[float | None], str]] = {
        "bytes": size,
        "B": size,
        "s": seconds,
        "ms": milliseconds,
        "us": lambda us: milliseconds(None if us is None else us / 1e3),
        "fraction": percent,
    }
    if unit in special:
        return special[unit](value)
    text = number(value)
    return text if text == NONE or not unit else f"{text}{HARD}{unit}"


def tick_word(value: float) -> str:
    """A place on an axis: as short as it can be said."""
    text = number(value, 4)
    return text.rstrip("0").rstrip(".") if "." in text else text


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Round places for an axis between two ends (1, 2, 2.5 or 5 times a power of ten apart)."""
    if not high > low:
        return [low]
    raw = (high - low) / max(1, count)
    power = 10 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(index * step, 12) for index in range(first, last + 1)]
