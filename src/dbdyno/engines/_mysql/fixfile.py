"""Lines of settings as a file that servers of the family read.

Source: MySQL 8.0 manual, "Using Option Files" (2024): a line counts only below the name of a group, and a folder that
`!includedir` names gives only its files that end in `.cnf`; MariaDB documentation, "Configuring MariaDB with Option
Files" (2024): its servers read the group `[mysqld]` too.
"""

from __future__ import annotations

from collections.abc import Sequence

NAME = "90-dyno.cnf"
_HEAD = (
    "# For a folder that the server's option file includes (!includedir), such as /etc/mysql/conf.d or /etc/my.cnf.d.",
    "[mysqld]",
)


def settings_file(lines: Sequence[str]) -> tuple[str, str]:
    """Name and text of the file."""
    return NAME, "".join(f"{line}\n" for line in (*_HEAD, *lines))
