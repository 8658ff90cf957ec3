"""Lines of settings as a file that the server reads. Source: PostgreSQL 18 manual, 19.1.5 (2025): a folder that
`include_dir` names gives its files that end in `.conf`, in the order of their names; the last line of a name counts."""

from __future__ import annotations

from collections.abc import Sequence

NAME = "90-dyno.conf"
_HEAD = "# For the folder that postgresql.conf includes (include_dir = 'conf.d')."


def settings_file(lines: Sequence[str]) -> tuple[str, str]:
    """Name and text of the file."""
    return NAME, "".join(f"{line}\n" for line in (_HEAD, *lines))
