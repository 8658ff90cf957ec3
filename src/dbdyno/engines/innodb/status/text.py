"""Takes a saved status text apart: wrappers of clients, several texts in one file, sections, known lines."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from dbdyno.model.errors import UsageError

TITLE = "INNODB MONITOR OUTPUT"
SECTIONS = (
    "BACKGROUND THREAD",
    "SEMAPHORES",
    "LATEST FOREIGN KEY ERROR",
    "LATEST DETECTED DEADLOCK",
    "TRANSACTIONS",
    "FILE I/O",
    "INSERT BUFFER AND ADAPTIVE HASH INDEX",
    "INSERT BUFFER",
    "ADAPTIVE HASH INDEX",
    "LOG",
    "BUFFER POOL AND MEMORY",
    "INDIVIDUAL BUFFER POOL INFO",
    "ROW OPERATIONS",
    "TABLESPACE MONITOR OUTPUT",
)
REQUIRED = ("SEMAPHORES", "TRANSACTIONS", "FILE I/O", "LOG", "BUFFER POOL AND MEMORY", "ROW OPERATIONS")
"""Every version has these; the others depend on version, settings and history."""

_HEADING = re.compile(
    r"^(?P<at>\d{4}-\d\d-\d\d +\d+:\d\d:\d\d|\d{6} +\d+:\d\d:\d\d)(?: +(?:0x)?[0-9a-fA-F]+)? +" + TITLE + r" *$", re.M
)
_BEGINNING = re.compile(r"[\s=]*(?:\d[\d:\- ]{0,20}(?:(?:0x)?[0-9a-fA-F]{0,16} *)?)?(?P<word>[A-Z ]*)[\s=]*\Z")
_WRAPPER = re.compile(r"\*+ \d{1,9}\. row \*+|[ \t]*(?:Type: *InnoDB|Name:|Status:)[ \t]*|Type\tName\tStatus")
_BATCH = "InnoDB\t\t"
_BEGINNING_CHARACTERS = 200
_RULE = re.compile(r"^-{3,}$")


@dataclass
class Text:
    """One status text in pieces."""

    at: str = ""
    interval_s: float | None = None
    sections: dict[str, list[str]] = field(default_factory=dict)
    complete: bool = False
    unread: list[str] = field(default_factory=list)


def split(text: str) -> list[str]:
    """The single status texts in a file that may hold several (a log, a collection over time), in their order."""
    plain = unwrap(text)
    starts = [found.start() for found in _HEADING.finditer(plain) if not _is_end(plain, found.start())]
    if len(starts) < 2:
        return [plain]
    return [plain[start:end] for start, end in zip(starts, [*starts[1:], len(plain)], strict=True)]


def unwrap(text: str) -> str:
    """The text as the server wrote it: without a client's frame, carriage returns, and newlines written as `\\n`."""
    plain = text.removeprefix("\ufeff").replace("\r\n", "\n")
    if plain.count("\\n") > 10 * (plain.count("\n") + 1):
        plain = plain.replace("\\n", "\n").replace("\\t", "\t")
    lines = plain.split("\n")
    first = next((index for index, line in enumerate(lines) if line.strip() and not _WRAPPER.fullmatch(line)), 0)
    if first or lines[0].startswith(_BATCH):
        lines[first] = lines[first].removeprefix(_BATCH)
        return "\n".join(lines[first:])
    return plain


def take_apart(text: str) -> Text:
    """One status text by sections. Raises `UsageError` when it is none, nor the beginning of one."""
    plain = unwrap(text)
    found = Text()
    heading = _HEADING.search(plain)
    lines = plain.split("\n")
    found.complete = any(line.startswith("END OF " + TITLE) for line in lines)
    if not found.complete:
        cut = lines.pop()
        # A number that is cut in the middle looks like another number, so the last line does not count.
        if cut:
            found.unread.append(f"the text ends inside the line {shortened(cut)!r}")
    if heading is not None:
        found.at = _time(heading["at"])
    _sections(lines, found)
    if heading is None and not found.sections and not _may_begin(plain):
        raise UsageError(
            "This is not a status text of InnoDB.",
            found=f"it begins with {shortened(plain.strip())!r}" if plain.strip() else "an empty text",
            todo="save the answer of SHOW ENGINE INNODB STATUS, with its line ends",
        )
    return found


def _sections(lines: Sequence[str], found: Text) -> None:
    current: list[str] | None = None
    position = 0
    while position < len(lines):
        line = lines[position].rstrip()
        title = lines[position + 1].strip() if position + 1 < len(lines) else ""
        if _RULE.match(line) and title in SECTIONS and title not in found.sections:
            current = found.sections.setdefault(title, [])
            position += 2
            if position < len(lines) and _RULE.match(lines[position].rstrip()):
                position += 1
            continue
        if line.startswith("END OF " + TITLE):
            return
        if current is None:
            seconds = re.match(r"Per second averages calculated from the last (\d+) seconds", line)
            found.interval_s = float(seconds[1]) if seconds else found.interval_s
        elif not (_RULE.match(line) and title.startswith("END OF " + TITLE)):
            current.append(line)
        position += 1


def _may_begin(plain: str) -> bool:
    found = _BEGINNING.match(plain) if len(plain) <= _BEGINNING_CHARACTERS else None
    return found is not None and TITLE.startswith(found["word"].strip())


def _is_end(plain: str, start: int) -> bool:
    return plain[max(0, start - 7) : start].endswith("END OF ")


def _time(text: str) -> str:
    """`150310 10:34:58`, as before 5.6, becomes `2015-03-10 10:34:58`."""
    day, _, clock = text.partition(" ")
    if "-" not in day:
        day = f"20{day[:2]}-{day[2:4]}-{day[4:]}"
    hour, _, rest = clock.strip().partition(":")
    return f"{day} {hour.zfill(2)}:{rest}"


def shortened(text: str, length: int = 60) -> str:
    first = text.split("\n", 1)[0]
    return first if len(first) <= length else first[: length - 1] + "…"


Value = int | float
Pattern = tuple[re.Pattern[str], tuple[str, ...]]


def pattern(expression: str, *names: str) -> Pattern:
    """A known line. `#` stands for a whole number, `%` for one with decimals; each names a field, or `_` for none."""
    escaped = re.escape(expression).replace(r"\ ", r" +").replace(r"\?", "?").replace(r"\*", ".*?")
    whole = escaped.replace(r"\#", r"(-?\d{1,19})").replace("%", r"(-?\d{1,19}(?:\.\d{1,19})?|-?nan|inf)")
    return re.compile(whole + r"[ ,]*$"), names


def fill(lines: Iterable[str], patterns: Sequence[Pattern]) -> tuple[dict[str, Value], list[str]]:
    """The fields of the known lines, and the lines that no pattern knows. The first line of a kind counts."""
    fields: dict[str, Value] = {}
    unknown: list[str] = []
    for line in lines:
        stripped = line.strip()
        if not stripped or _RULE.match(stripped):
            continue
        for expression, names in patterns:
            found = expression.match(stripped)
            if found is not None:
                for name, text in zip(names, found.groups(), strict=True):
                    value = number(text) if name != "_" and text else None
                    if value is not None:
                        fields.setdefault(name, value)
                break
        else:
            unknown.append(stripped)
    return fields, unknown


def number(text: str) -> Value | None:
    """None for what the server printed after a division by zero (`nan`, `inf`)."""
    try:
        return int(text)
    except ValueError:
        value = float(text)
    return value if math.isfinite(value) else None


def integer(text: str | None) -> int | None:
    return int(text) if text and len(text) < 20 and text.lstrip("-").isdecimal() else None


def position(text: str) -> int:
    """A log position. Up to 5.1 it was written as two 32-bit halves: `0 51296721`."""
    halves = text.split()
    return int(halves[0]) if len(halves) == 1 else (int(halves[0]) << 32) + int(halves[1])
