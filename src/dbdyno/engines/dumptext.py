"""Reading what people send: tables of text in the shapes that command lines print, and version strings.

Nothing here raises for a broken text: what can be read is read, and the rest is left out. Whoever uses it turns what is
not there into facts with a reason.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator

_BOXED = re.compile(r"^\s*\|(.*)\|\s*$")
_RULE = re.compile(r"^[\s|+=-]+$")
_VERTICAL = re.compile(r"^\s*\*+ .*row.* \*+$", re.IGNORECASE)
_ROWS = re.compile(r"^\(?\d+ rows?.*$", re.IGNORECASE)
_CLOUD = re.compile(r"aurora|azure|\brds\b|cloud-?sql|alloydb|neon\b|supabase", re.IGNORECASE)
FIELD_CHARACTERS_MAX = 65_536
"""Longest value that is kept; nothing that a rule asks for is longer."""


def clean(text: str) -> str:
    """Unix line ends, no byte order mark, no NUL."""
    return text.lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")


def table_rows(text: str) -> Iterator[list[str]]:
    """Rows of a table that is boxed with `|`, separated by tabs or by commas (quoted as CSV), one field a cell.

    Rulers, row counts and empty lines are left out; the header is a row like any other.
    """
    lines = [line for line in clean(text).split("\n") if line.strip()]
    body = [line for line in lines if not _RULE.match(line) and not _ROWS.match(line)]
    if not body:
        return
    rows: Iterator[list[str]]
    if sum(bool(_BOXED.match(line)) for line in body) > len(body) / 2:
        rows = ([cell.strip() for cell in match[1].split("|")] for line in body if (match := _BOXED.match(line)))
    elif sum("\t" in line for line in body) > len(body) / 2:
        rows = ([cell.strip() for cell in line.split("\t")] for line in body)
    elif sum(" | " in line for line in body) > len(body) / 2:
        rows = ([cell.strip() for cell in line.split(" | ")] for line in body)
    else:
        rows = _commas("\n".join(lines))
    for row in rows:
        yield [cell[:FIELD_CHARACTERS_MAX] for cell in row]


def _commas(text: str) -> Iterator[list[str]]:
    separator = ";" if text.split("\n", 1)[0].count(";") > text.split("\n", 1)[0].count(",") else ","
    reader = csv.reader(io.StringIO(text), delimiter=separator)
    while True:
        try:
            yield next(reader)
        except StopIteration:
            return
        except csv.Error:
            continue


def pairs(text: str) -> dict[str, str]:
    """Name and value from a table of two columns, from `name = value` lines, or from the vertical form of a client
    (`Variable_name: …`, then `Value: …`). The first line of a table is taken for a header when it says so."""
    found: dict[str, str] = {}
    cleaned = clean(text)
    if any(_VERTICAL.match(line) for line in cleaned.split("\n", 3)[:3]):
        return _vertical(cleaned)
    for row in table_rows(cleaned):
        if len(row) >= 2 and row[0] and row[0].lower() not in ("variable_name", "name"):
            found[row[0]] = "|".join(row[1:]) if len(row) > 2 else row[1]
        elif len(row) == 1 and "=" in row[0]:
            name, _, value = row[0].partition("=")
            found[name.strip()] = value.strip()
    return found


def _vertical(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    name = ""
    for line in text.split("\n"):
        key, colon, value = line.partition(":")
        if colon and key.strip().lower() == "variable_name":
            name = value.strip()
        elif colon and key.strip().lower() == "value" and name:
            found[name] = value.strip()[:FIELD_CHARACTERS_MAX]
    return found


def numeric_version(text: str) -> tuple[int, ...]:
    """The leading dotted number of a version: `5.7.44-48-log` gives (5, 7, 44). Empty when there is none.

    Prefixes such as a product's name, `v` or the `5.5.5-` that one server puts before its real version to calm old
    clients are passed over.
    """
    match = re.search(r"(?<![\w.])(?:5\.5\.5-)?v?(\d+(?:\.\d+)*)", text)
    return tuple(int(part) for part in match[1].split(".")) if match else ()


def is_cloud(text: str) -> bool:
    """Whether a version or comment names a managed service, where files and some settings are out of reach."""
    return bool(_CLOUD.search(text))


def number(text: str) -> float | None:
    """A number in any locale's writing, `1.234,5` and `1,234.5` alike; None when it is not one."""
    compact = text.strip().replace("\u00a0", "").replace("\u202f", "").replace(" ", "").replace("'", "")
    if re.fullmatch(r"[+-]?\d{1,3}(\.\d{3})+,\d+|[+-]?\d+,\d{1,2}|[+-]?\d+,\d{4,}", compact):
        compact = compact.replace(".", "").replace(",", ".")
    elif re.fullmatch(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?", compact):
        compact = compact.replace(",", "")
    try:
        return float(compact)
    except ValueError:
        return None
