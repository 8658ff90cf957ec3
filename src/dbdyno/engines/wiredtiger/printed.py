"""Documents as people save them: extended JSON (canonical and relaxed), and what the shells print.

The shells print no JSON: keys without quotes, words in single quotes, `NumberLong("5")`, `ISODate("…")`,
`Timestamp({ t: 1, i: 2 })`, trailing commas. What cannot be read raises `ValueError`.
Source: MongoDB manual, "MongoDB Extended JSON (v2)" and "mongosh: Data Types" (2024).
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Callable
from typing import Any

DEPTH_MAX = 64
PRINTED_CHARACTERS_MAX = 8 << 20
"""Most of what a shell printed that is read: no answer that rules ask for is as long."""
_TOKEN = re.compile(
    r"""\s*(?:(?P<mark>[{}\[\]:,()])
    |(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    |(?P<regex>/(?:[^/\\\n]|\\.)+/[a-z]*)
    |(?P<number>[-+]?(?:Infinity|NaN|\d[\d_]*\.?\d*(?:[eE][-+]?\d+)?|\.\d+)(?![\w$]))
    |(?P<word>[A-Za-z_$][\w$.]*))""",
    re.VERBOSE | re.DOTALL,
)
_COMMENT = re.compile(r"\s*(//[^\n]*\n|/\*.*?\*/)", re.DOTALL)
_CONSTANTS: dict[str, Any] = {"true": True, "false": False, "null": None, "undefined": None, "MinKey": None,
                              "MaxKey": None}  # fmt: skip
_NUMBERS = ("NumberLong", "NumberInt", "NumberDecimal", "Long", "Int32", "Double", "Decimal128", "Number",
            "Long.fromString", "Int32.fromString", "Decimal128.fromString")  # fmt: skip
_DATES = ("ISODate", "Date")


def document(text: str) -> Any:
    """The first document of a text. What stands before its brace (a prompt, a connection notice) is passed over."""
    # A prompt may hold brackets (`rs0 [direct: primary] test>`): only a text that begins with one is a list.
    start = 0 if text.lstrip()[:1] == "[" else text.find("{")
    if start < 0:
        raise ValueError("there is no document in it")
    try:
        return plain(json.JSONDecoder().raw_decode(text[start:].lstrip())[0])
    except (json.JSONDecodeError, RecursionError):
        if len(text) > PRINTED_CHARACTERS_MAX:
            raise ValueError(f"what is no JSON is read up to {PRINTED_CHARACTERS_MAX >> 20} MiB") from None
        return plain(_Reader(text, start).value(0))


def plain(value: Any) -> Any:
    """The value without the wrappings of extended JSON: numbers are numbers, dates are seconds since 1970."""
    if isinstance(value, list):
        return [plain(one) for one in value]
    if not isinstance(value, dict):
        return _scalar(value)
    if len(value) == 1:
        name, inner = next(iter(value.items()))
        if str(name) in _WRAPPED:
            return _WRAPPED[str(name)](inner)
    return {str(name): plain(inner) for name, inner in value.items()}


def _scalar(value: Any) -> Any:
    """Without the driver's own types: its Int64 is an int, its Timestamp has a time and a counter."""
    if value is None or isinstance(value, bool | float | str):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, datetime.datetime):
        return _seconds(value)
    if hasattr(value, "time") and hasattr(value, "inc"):
        return int(value.time)
    return str(value)


def _number(text: str) -> int | float:
    compact = text.replace("_", "")
    try:
        return int(compact)
    except ValueError:
        return float(compact)


def _date(inner: Any) -> float | str:
    if isinstance(inner, dict):
        inner = plain(inner)
    if isinstance(inner, int | float):
        return inner / 1e3
    try:
        return _seconds(datetime.datetime.fromisoformat(str(inner).replace("Z", "+00:00")))
    except ValueError:
        return str(inner)


def seconds_of(value: object) -> float | None:
    """A date that was read as seconds or stands as text; None when it is none."""
    if isinstance(value, int | float):
        return float(value)
    found = _date(value) if isinstance(value, str) else None
    return float(found) if isinstance(found, int | float) else None


def _seconds(moment: datetime.datetime) -> float:
    return (moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)).timestamp()


def _numeric(inner: Any) -> int | float:
    return _number(str(inner))


_WRAPPED: dict[str, Callable[[Any], Any]] = {
    "$numberLong": _numeric,
    "$numberInt": _numeric,
    "$numberDouble": _numeric,
    "$numberDecimal": _numeric,
    "$date": _date,
    "$timestamp": lambda inner: _numeric(inner.get("t", 0) if isinstance(inner, dict) else inner),
    "$oid": str,
    "$symbol": str,
    "$uuid": str,
}


class _Reader:
    """What the shells print, read by descent."""

    def __init__(self, text: str, at: int) -> None:
        self._text = text
        self._at = at

    def value(self, depth: int) -> Any:
        if depth > DEPTH_MAX:
            raise ValueError(f"more than {DEPTH_MAX} levels")
        kind, token = self._next()
        if token == "{" and kind == "mark":
            return self._object(depth)
        if token == "[" and kind == "mark":
            return self._list("]", depth)
        if kind == "text":
            return _unquoted(token)
        if kind == "number":
            return _number(token)
        if kind == "regex":
            return token
        if kind == "word":
            return self._word(token, depth)
        raise ValueError(f"{token!r} where a value should be, at character {self._at}")

    def _word(self, word: str, depth: int) -> Any:
        if word == "new":
            word = self._next()[1]
        if self._peek() != "(":
            if word in _CONSTANTS:
                return _CONSTANTS[word]
            raise ValueError(f"{word!r} is no value")
        self._next()
        given = self._list(")", depth)
        first = given[0] if given else 0
        if word in _NUMBERS:
            return _number(str(first))
        if word in _DATES:
            return _date(first)
        if word == "Timestamp":
            return first.get("t", 0) if isinstance(first, dict) else first
        return str(first)

    def _object(self, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while True:
            kind, token = self._next()
            if token == "}" and kind == "mark":
                return found
            if token == "," and kind == "mark":
                continue
            if kind not in ("text", "word", "number"):
                raise ValueError(f"{token!r} where a name should be, at character {self._at}")
            name = _unquoted(token) if kind == "text" else token
            if self._next()[1] != ":":
                raise ValueError(f"no colon after {name!r}")
            found[name] = self.value(depth + 1)

    def _list(self, end: str, depth: int) -> list[Any]:
        found: list[Any] = []
        while True:
            mark = self._peek()
            if mark in (end, ","):
                self._next()
                if mark == end:
                    return found
                continue
            if mark == "..." or self._text.startswith("... ", self._at):
                raise ValueError("the shell cut the list short")
            found.append(self.value(depth + 1))

    def _peek(self) -> str:
        at = self._at
        token = self._next()[1]
        self._at = at
        return token

    def _next(self) -> tuple[str, str]:
        while match := _COMMENT.match(self._text, self._at):
            self._at = match.end()
        match = _TOKEN.match(self._text, self._at)
        if match is None:
            raise ValueError(f"it cannot be read from character {self._at} on")
        self._at = match.end()
        kind = match.lastgroup or ""
        return kind, match[kind]


def _unquoted(token: str) -> str:
    if token[0] == '"':
        try:
            return str(json.loads(token, strict=False))
        except json.JSONDecodeError:
            pass
    return re.sub(r"\\(.)", r"\1", token[1:-1])
