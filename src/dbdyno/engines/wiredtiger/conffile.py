"""mongod.conf: the part of YAML that it is written in, read into dotted names, and lines set in it.

Everything else in the file stays as it is, comments, order and blanks included. Flow style (`net: {port: 1}`), anchors
and tags are not edited: `merged` then raises `ValueError`, and a person has to do it.
Source: MongoDB manual, "Configuration File Options" (2024).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_LINE = re.compile(r"^(?P<indent> *)(?P<key>[A-Za-z_$][\w.$-]*|\"[^\"]+\"|'[^']+')\s*:(?:\s+(?P<value>.*))?$")
_OLD = re.compile(r"^\s*([A-Za-z][\w.]*)\s*=\s*(\S.*?)\s*$")
LINES_MAX = 10_000


def options(text: str) -> dict[str, str]:
    """All scalars by dotted name; texts without their quotes. The old `name = value` form is not read."""
    found: dict[str, str] = {}
    path: list[tuple[int, str]] = []
    for raw in text.splitlines()[:LINES_MAX]:
        parsed = _parsed(raw)
        if parsed is None:
            continue
        indent, key, value = parsed
        while path and path[-1][0] >= indent:
            path.pop()
        path.append((indent, key))
        name = ".".join(part for _, part in path)
        if value.startswith("{") and value.endswith("}"):
            found.update({f"{name}.{one}": inner for one, inner in _flow(value).items()})
        elif value:
            found[name] = _plain(value)
    return found


def is_old_form(text: str) -> bool:
    """Whether it is of the form that 2.4 had: `name = value`."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    return bool(lines) and all(_OLD.match(line) for line in lines)


def merged(text: str, changes: Mapping[str, str]) -> str:
    """The file with each dotted name set to its value. Raises `ValueError` for a form that is not edited here."""
    if is_old_form(text):
        raise ValueError("it is of the form `name = value`, which cannot hold all options")
    if any(re.search(r"(?:^|\s)[&*!][A-Za-z]|:\s*[{\[]", line.partition("#")[0]) for line in text.splitlines()):
        raise ValueError("it holds YAML that is not edited by a program here (flow style, anchors or tags)")
    lines = text.splitlines()
    for name, value in changes.items():
        _set(lines, name.split("."), value)
    return "\n".join(lines) + "\n"


def fragment(changes: Mapping[str, str]) -> str:
    """The changes alone, as a file that has nothing else."""
    lines: list[str] = []
    for name in sorted(changes):
        _set(lines, name.split("."), changes[name])
    return "\n".join(lines) + "\n"


def _set(lines: list[str], path: list[str], value: str) -> None:
    """Changes the line, or adds it at the end of the deepest part of its path that is there."""
    start, end, indent = 0, len(lines), 0
    for depth, key in enumerate(path):
        at = _find(lines, key, start, end, indent if depth else 0)
        if at is None:
            rest = path[depth:]
            step = 2
            new = [" " * (indent + step * number) + f"{part}:" for number, part in enumerate(rest)]
            new[-1] += f" {_written(value)}"
            place = _after_content(lines, start, end)
            lines[place:place] = new
            return
        if depth == len(path) - 1:
            parsed = _parsed(lines[at])
            assert parsed is not None, "it was just found"
            comment = _comment(lines[at])
            lines[at] = " " * parsed[0] + f"{key}: {_written(value)}" + (f"  {comment}" if comment else "")
            return
        parent = _parsed(lines[at])
        assert parent is not None, "it was just found"
        start, end = at + 1, _end_of_block(lines, at + 1, end, parent[0])
        indent = _child_indent(lines, start, end, parent[0])


def _find(lines: list[str], key: str, start: int, end: int, indent: int) -> int | None:
    for at in range(start, end):
        parsed = _parsed(lines[at])
        if parsed is not None and parsed[0] == indent and parsed[1] == key:
            return at
    return None


def _end_of_block(lines: list[str], start: int, end: int, indent: int) -> int:
    for at in range(start, end):
        parsed = _parsed(lines[at])
        if parsed is not None and parsed[0] <= indent:
            return at
    return end


def _child_indent(lines: list[str], start: int, end: int, parent: int) -> int:
    for at in range(start, end):
        parsed = _parsed(lines[at])
        if parsed is not None:
            return parsed[0]
    return parent + 2


def _after_content(lines: list[str], start: int, end: int) -> int:
    """Behind the block's last line that says something, before the blanks and comments that lead the next one in."""
    place = start
    for at in range(start, end):
        if _parsed(lines[at]) is not None:
            place = at + 1
    return place if place > start or start else len(lines)


def _parsed(line: str) -> tuple[int, str, str] | None:
    if line.lstrip().startswith(("#", "---", "%", "- ")) or "\t" in line[: len(line) - len(line.lstrip())]:
        return None
    match = _LINE.match(line.rstrip())
    if match is None:
        return None
    value = match["value"] or ""
    comment = _comment(line)
    if comment:
        value = value[: len(value) - len(comment)] if value.endswith(comment) else ""
    return len(match["indent"]), match["key"].strip("\"'"), value.strip()


def _comment(line: str) -> str:
    """The comment at the end of a line; a `#` in quotes or inside a word begins none."""
    quote = ""
    for at, character in enumerate(line):
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'" and (at == 0 or line[at - 1] in " :"):
            quote = character
        elif character == "#" and (at == 0 or line[at - 1].isspace()):
            return line[at:].rstrip()
    return ""


def _flow(value: str) -> dict[str, str]:
    pairs = (part.partition(":") for part in value[1:-1].split(",") if ":" in part)
    return {key.strip().strip("\"'"): _plain(inner.strip()) for key, _, inner in pairs}


def _plain(value: str) -> str:
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1]
    return {"yes": "true", "on": "true", "no": "false", "off": "false"}.get(value.lower(), value)


def _written(value: str) -> str:
    return value if re.fullmatch(r"[\w./,:-]*\w|[\w./-]+", value) else '"' + value.replace('"', '\\"') + '"'
