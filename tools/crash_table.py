"""Writes the table of docs/reference/crash-proof.md from the folders of proofs:

.venv/bin/python tools/crash_table.py FOLDER… FOLDER='tuned winner'…

A row stands for a server, a file system and a configuration. What the folders bring takes the place of what the table
had of the same; all other rows stay, so that a folder may be gone once its rows are written. Words behind a folder's
name say what its configuration is.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterable
from pathlib import Path

from dbdyno.crash.modes import BLOCK
from dbdyno.crash.store import CrashFolder
from dbdyno.model.crash import SUBJECT, ArmOutcome, CrashPlan
from dbdyno.report import figures

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "crash-proof.md"
BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"
KEYS = 3
"""The first columns, which name a row."""
HEADS = ["server", "file system", "configuration", "states", "losing", "corrupt", "log differs", "bad", "95 % bound"]
HEADS += ["lost at most", "oldest", "level", "process alone", "recovery (median, slowest)", "a state"]


def rows(path: Path, label: str = "") -> list[list[str]]:
    """One row a configuration."""
    folder = CrashFolder(path)
    plan, outcome = folder.plan(), folder.outcome()
    states = folder.states()
    server = f"{plan.target.engine} {plan.installation.version_text}"
    found = []
    for arm in outcome.arms if outcome else ():
        took = [state.seconds for state in states if state.arm == arm.name and state.seconds]
        cost = figures.seconds(statistics.median(took)) if took else ""
        where = plan.file_system if plan.mode == BLOCK else plan.mode
        found.append([server, where, title(plan, arm, label), *cells(arm), cost])
    return found


def title(plan: CrashPlan, arm: ArmOutcome, label: str) -> str:
    tried = {name: value for name, value in plan.assignment.items() if arm.settings.get(name) == value}
    settings = ", ".join(f"{name} = {value}" for name, value in tried.items())
    fault = f"; the disk fails: {plan.fault}" if plan.fault else ""
    if arm.name == SUBJECT:
        return f"on trial: {': '.join(part for part in (label, settings) if part) or 'default'}{fault}"
    return f"control {arm.name}{f', with {settings}' if settings else ''}{fault}"


def cells(arm: ArmOutcome) -> list[str]:
    if arm.level is None:
        return ["0", *[""] * 7, f"not run: {arm.error}", "", ""]
    recovery = f"{figures.seconds(arm.recovery_s_median)}, {figures.seconds(arm.recovery_s_max)}"
    oldest = figures.milliseconds(arm.lost_oldest_ms) if arm.lost_oldest_ms is not None else ""
    return [
        str(arm.states), str(arm.losing), str(arm.corrupt), str(arm.disagreeing), figures.percent(arm.rate),
        figures.percent(arm.rate_high), str(arm.lost_max), oldest, arm.level.name, str(arm.process_crash), recovery,
    ]  # fmt: skip


def parse(table: str) -> list[list[str]]:
    """The rows of a table that was written before; a column that it did not have is empty."""
    heads, *lines = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in table.strip().splitlines()]
    named = [dict(zip(heads, line, strict=False)) for line in lines[1:]]
    return [[line.get(head, "") for head in HEADS] for line in named]


def merge(old: Iterable[list[str]], new: Iterable[list[str]]) -> list[list[str]]:
    """All rows, those of one server and file system together; the new ones in place of old ones of the same name."""
    kept = {tuple(row[:KEYS]): row for row in (*old, *new)}
    places: dict[tuple[str, ...], list[list[str]]] = {}
    for row in kept.values():
        places.setdefault(tuple(row[: KEYS - 1]), []).append(row)
    return [row for there in places.values() for row in there]


def table(body: Iterable[list[str]]) -> str:
    lines = [HEADS, ["---"] * len(HEADS), *body]
    return "\n".join("| " + " | ".join(cell.replace("\u202f", " ") for cell in line) + " |" for line in lines)


def main(words: list[str]) -> None:
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    old, _, after = rest.partition(END)
    named = [word.partition("=") for word in words]
    new = [row for name, _, label in named for row in rows(Path(name), label)]
    PAGE.write_text(f"{before}{BEGIN}\n{table(merge(parse(old), new))}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
