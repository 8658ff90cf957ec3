"""Fixed options as mongod reads them: alone, and in the server's own file with its comments and order kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dbdyno.engines.wiredtiger import conffile
from dbdyno.model.facts import Facts

NAME = "dyno-mongod.yaml"
STATEMENTS = "js"
"""Ending of the files of commands, which are for the shell."""
_HEAD = (
    "# What dyno advises. mongod reads one file only: put these lines into it (mongod.conf beside this one, where it\n"
    "# is there, is the server's own file with them), then restart. dyno apply does not do it for this server.\n"
)


def settings_file(lines: Sequence[str]) -> tuple[str, str]:
    """Name and text of the options, from `name: value  # reason` lines."""
    options, reasons = {}, []
    for line in lines:
        setting, _, reason = line.partition("  # ")
        name, _, value = setting.partition(": ")
        options[name] = value
        reasons.append(f"# {name}: {reason}\n" if reason else "")
    return NAME, _HEAD + "".join(reasons) + conffile.fragment(options)


def merged_files(settings: Mapping[str, str], facts: Facts) -> dict[str, str]:
    """The server's own file with the options set, where it was read whole; else nothing, or why not."""
    if not facts.has("server.config_text") or not settings:
        return {}
    text = facts.text("server.config_text")
    if "***" in text:
        return {
            "mongod.conf.not-made.txt": "The server's file holds a password, so it is not written out again here.\n"
        }
    try:
        return {"mongod.conf": conffile.merged(text, settings)}
    except ValueError as error:
        return {"mongod.conf.not-made.txt": f"The server's file is left as it is: {error}.\n"}
