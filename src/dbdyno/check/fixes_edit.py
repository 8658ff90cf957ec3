"""Edits of configuration files as pure functions of their text. Each is idempotent: a second time changes nothing."""

from __future__ import annotations

import re

from dbdyno.model.errors import UsageError

MOUNT_GROUPS: tuple[frozenset[str], ...] = (
    frozenset({"noatime", "relatime", "strictatime", "atime"}),
    frozenset({"discard", "nodiscard", "discard=async", "discard=sync"}),
    frozenset({"barrier", "nobarrier", "barrier=0", "barrier=1", "barrier=flush", "barrier=none"}),
)
"""Of each group a mount has one word: a new one takes the old one's place."""


def set_line(text: str, pattern: str, line: str, header: str = "") -> str:
    """The text with `line` in the place of all lines that match `pattern` (from their beginning): where the last of
    them stood, else at the end, below `header`, which is added when it is missing. An empty line removes them."""
    lines = text.splitlines()
    matching = [number for number, one in enumerate(lines) if re.match(pattern, one)]
    if matching:
        kept = [one for number, one in enumerate(lines) if number not in matching[:-1]]
        place = matching[-1] - (len(matching) - 1)
        kept[place : place + 1] = [line] if line else []
    else:
        kept = list(lines)
        if line:
            kept += [*_missing_header(lines, header), line]
    return "\n".join(kept) + "\n" if kept else ""


def _missing_header(lines: list[str], header: str) -> list[str]:
    wanted = header.splitlines()
    return [] if not wanted or wanted[-1] in lines else wanted


def set_mount_option(text: str, point: str, word: str) -> str:
    """/etc/fstab with a word among the options of a mount point. Raises `UsageError` when it is not listed there."""
    lines, found = text.splitlines(), False
    for number, line in enumerate(lines):
        words = line.split()
        if len(words) < 4 or words[0].startswith("#") or words[1].replace("\\040", " ") != point:
            continue
        found = True
        options = mount_options(words[3], word)
        if options != words[3]:
            # Only the fourth field changes; blanks between the fields stay as their owner set them.
            lines[number] = re.sub(r"^(\s*\S+\s+\S+\s+\S+\s+)\S+", lambda m: m[1] + options, line, count=1)  # noqa: B023
    if not found:
        raise UsageError(f"{point} is not listed in /etc/fstab.", todo="add the option where it is mounted from")
    return "\n".join(lines) + "\n"


def mount_options(options: str, word: str) -> str:
    """Options with the word instead of its rivals."""
    rivals = next((group for group in MOUNT_GROUPS if word in group), frozenset({word}))
    if rivals & set(options.split(",")) == {word}:
        return options
    kept = [one for one in options.split(",") if one not in rivals and one != "defaults"]
    return ",".join([*(["defaults"] if "defaults" in options.split(",") else []), *kept, word])
