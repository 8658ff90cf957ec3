"""The reference of the causes is made from their files and from what was provoked; `make accept` writes it anew."""

from __future__ import annotations

import inspect
import json
import os
from pathlib import Path

from dbdyno.explain.registry import diagnoses, engine_folders
from dbdyno.model.diagnosis import Diagnosis

ROOT = Path(__file__).resolve().parents[3]
PROVOKED = ROOT / "tests/fixtures/provoked.json"
CALM = ROOT / "tests/fixtures/calm.json"
PAGE = ROOT / "docs/reference/diagnoses.md"
INTRODUCTION = """\
# Causes that `dyno explain` names

This page is generated (`make accept`) from the files in `engines/<engine>/diagnoses/` and `hosts/diagnoses/`, which are
the causes' manual pages, checks and examples at once. A cause is *at work*, *not at work*, or *unknown* when the record
lacks what it needs; `dyno explain --all` says what was lacking.

Findings are ranked: warnings before advice; what names who did it before what names the resource that ran out; then by
the share of the lost transactions explained, times confidence. Every cause has an example that it names and one, with a
stall of another cause, that it does not; both are made by the generator in `model/example.py`.

## Provoked

Each was brought about on a real server (`tests/engines/test_explain_*.py`; all of them with `make engines`). *Named*
lists what was named, the first first; on calm runs of those servers none of them was named. The other causes were **not
provoked**: they are tested on made records only.

| cause | server | how | named |
|---|---|---|---|
"""
CALM_INTRODUCTION = """\
## False alarms

Healthy servers under a moderate load, or none, recorded by `tests/engines/test_explain_calm.py` (part of `make
engines`): what was named at severity warning or higher. What somebody else did on the machine is no false alarm when it
is named (`other-programs`, `bulk-reader`, `bulk-writer`, `processor-stolen`).

| server and workload | how | warnings |
|---|---|---|
"""


def page() -> str:
    """The whole page."""
    provoked = json.loads(PROVOKED.read_text())
    lines = [INTRODUCTION.rstrip("\n")]
    for key, one in sorted(provoked.items()):
        cause, _, server = key.partition(" on ")
        named = ", ".join(f"`{name}`" for name in one["named"])
        lines.append(f"| `{cause}` | {server or 'PostgreSQL'} | {one['how']} | {named} |")
    lines += ["", *CALM_INTRODUCTION.splitlines()]
    for which, one in sorted(json.loads(CALM.read_text()).items()):
        lines.append(f"| {which} | {one['how']} | {', '.join(f'`{name}`' for name in one['warnings']) or 'none'} |")
    for title, group in groups():
        lines += ["", f"## {title}"]
        for one in group:
            mark = "provoked" if one.id in {key.partition(" on ")[0] for key in provoked} else "not provoked"
            lines += ["", *body(one, mark)]
    return "\n".join(lines) + "\n"


def groups() -> list[tuple[str, tuple[Diagnosis, ...]]]:
    host = diagnoses("")
    found: list[tuple[str, tuple[Diagnosis, ...]]] = [("The machine", host)]
    for engine in engine_folders():
        own = tuple(one for one in diagnoses(engine) if one not in host)
        if own:
            found.append((f"Engine `{engine}`", own))
    return found


def body(one: Diagnosis, mark: str) -> list[str]:
    module = inspect.getmodule(one.check)
    assert module is not None
    paragraphs = (module.__doc__ or "").strip().split("\n\n")
    lines = [f"### `{one.id}`", "", f"{one.title} ({mark})."]
    for paragraph in paragraphs[1:]:
        head, colon, rest = paragraph.partition(":")
        lines += ["", f"**{head}**{colon}{rest}" if colon else paragraph]
    return lines


def test_the_page_is_what_the_files_say() -> None:
    wanted = page()
    if os.environ.get("DYNO_ACCEPT") == "1":
        PAGE.write_text(wanted)
    assert PAGE.read_text() == wanted, "run `make accept`, and read the change"


def test_what_was_provoked_exists() -> None:
    provoked = json.loads(PROVOKED.read_text())
    known = {one.id for one in diagnoses()}
    for key, one in provoked.items():
        cause = key.partition(" on ")[0]
        assert cause in known
        assert cause in one["named"], f"{cause} was provoked and not named"
