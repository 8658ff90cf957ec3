"""The configuration file: read into names and values, and written line by line.

Source: the comments of redis.conf 7.0 and valkey.conf 8.0 (2022, 2024): a name, a blank, words that may be quoted.
"""

from __future__ import annotations

import re
import shlex

from dbdyno.engines.dumptext import clean
from dbdyno.model.knob import Assignment, Value

_SIZE = re.compile(r"(\d+)(b|kb?|mb?|gb?)", re.IGNORECASE)
_UNITS = {"b": 1, "k": 1000, "kb": 1 << 10, "m": 1000**2, "mb": 1 << 20, "g": 1000**3, "gb": 1 << 30}
_REPEATED = frozenset({"save", "client-output-buffer-limit", "loadmodule", "rename-command", "user", "include"})
_PLAIN = re.compile(r"[\w.:/@%*+-]+")
_WORDS_OF_ONE_SETTING = frozenset({"save", "client-output-buffer-limit", "bind", "oom-score-adj-values"})
"""Settings of several words, which the file takes without quotes."""


def parse(text: str) -> dict[str, str]:
    """Settings of a file by name; of those that may stand there several times all values, one after the other. What is
    included from other files is not followed. Lines that cannot be read are left out."""
    found: dict[str, str] = {}
    for raw in clean(text).split("\n"):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        try:
            name, *words = shlex.split(line)
        except ValueError:
            continue
        name, value = name.lower(), " ".join(words)
        repeats = name in _REPEATED and found.get(name)
        found[name] = f"{found[name]} {value}" if repeats else value
    return found


def same(name: str, one: str, other: str) -> bool:
    """Whether two texts mean the same value (sizes with a unit, blanks, order of a limit's classes)."""
    left, right = plain(one), plain(other)
    if name == "client-output-buffer-limit":
        classes = limits_of(right)
        return all(classes.get(kind) == limit for kind, limit in limits_of(left).items())
    return left == right


def plain(text: str) -> str:
    """Sizes as bytes, single blanks, lower case words."""
    return " ".join(str(size_bytes(word)) if _SIZE.fullmatch(word) else word.lower() for word in text.split())


def size_bytes(text: str) -> int:
    """`100mb` as bytes: `mb` is 1024², `m` is 1000², as the server has it. Raises `ValueError`."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        return int(text)
    return int(match[1]) * _UNITS[match[2].lower()]


def limits_of(text: str) -> dict[str, tuple[int, int, int]]:
    """`client-output-buffer-limit` by class: hard bytes, soft bytes, seconds. Old and new names of the replicas' class
    are one. What cannot be read is left out."""
    words, found = text.split(), {}
    for at in range(0, len(words) - 3, 4):
        kind, *numbers = words[at : at + 4]
        try:
            hard, soft, seconds = (size_bytes(number) for number in numbers)
        except ValueError:
            continue
        found["replica" if kind == "slave" else kind] = (hard, soft, seconds)
    return found


def line_of(name: str, value: Value) -> str:
    """One setting as a line of the file."""
    text = str(value)
    if name == "save" and text:
        words = text.split()
        return "\n".join(f"save {words[at]} {words[at + 1]}" for at in range(0, len(words) - 1, 2))
    if name == "client-output-buffer-limit" and limits_of(text):
        # Before 7.0 a line is of one class.
        words = text.split()
        return "\n".join(f"{name} {' '.join(words[at : at + 4])}" for at in range(0, len(words), 4))
    if name in _WORDS_OF_ONE_SETTING and text:
        return f"{name} {text}"
    return f"{name} {text}" if _PLAIN.fullmatch(text) else f"{name} {quoted(text)}"


def statement_of(name: str, value: Value) -> str:
    """The command that changes it now, as the server's own command line takes it."""
    text = str(value)
    return f"CONFIG SET {name} {text if _PLAIN.fullmatch(text) else quoted(text)}"


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def render(assignment: Assignment) -> tuple[str, list[str]]:
    """The configuration as lines of the file, and as commands; the last one writes the server's file anew."""
    lines = [line_of(name, value) for name, value in assignment.items()]
    commands = [statement_of(name, value) for name, value in assignment.items()]
    return "".join(line + "\n" for line in lines), [*commands, "CONFIG REWRITE"]
