"""Lines of settings as a file that the server reads: words behind a value would be taken for the value.

Source: the comments of valkey.conf 8.0 (2024): the last `include` counts, and comments are lines of their own.
"""

from __future__ import annotations

from collections.abc import Sequence

NAME = "dyno-valkey.conf"
STATEMENTS = "txt"
"""Ending of the files of commands, which are for the standard input of the server's command line."""
_HEAD = "# For the end of the server's file: include /path/of/dyno-valkey.conf"
_REMARK = "  # "


def settings_file(lines: Sequence[str]) -> tuple[str, str]:
    """Name and text of the file; what was said behind a line stands above it."""
    text = [_HEAD]
    for line in lines:
        setting, mark, remark = line.rpartition(_REMARK)
        text += [f"# {remark}", setting] if mark else [line]
    return NAME, "".join(f"{line}\n" for line in text)
