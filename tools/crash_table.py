"""Writes the table of docs/reference/crash-proof.md from the folders of proofs:

.venv/bin/python tools/crash_table.py FOLDER…
"""

from __future__ import annotations

import statistics
import sys
from pathlib import Path

from dbdyno.crash.store import CrashFolder
from dbdyno.model.crash import SUBJECT, ArmOutcome
from dbdyno.report import figures

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "crash-proof.md"
BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"
HEADS = ["server", "file system", "configuration", "states", "losing", "corrupt", "bad", "95 % bound", "lost at most"]
HEADS += ["oldest", "level", "process alone", "recovery (median, slowest)", "a state"]


def rows(path: Path) -> list[list[str]]:
    """One row a configuration."""
    folder = CrashFolder(path)
    plan, outcome = folder.plan(), folder.outcome()
    states = folder.states()
    server = f"{plan.target.engine} {plan.installation.version_text}"
    found = []
    for arm in outcome.arms if outcome else ():
        took = [state.seconds for state in states if state.arm == arm.name and state.seconds]
        found.append([server, plan.file_system, *cells(arm), figures.seconds(statistics.median(took)) if took else ""])
    return found


def cells(arm: ArmOutcome) -> list[str]:
    settings = ", ".join(f"{name} = {value}" for name, value in arm.settings.items())
    title = f"on trial: {settings or 'default'}" if arm.name == SUBJECT else f"control {arm.name}"
    if arm.level is None:
        return [title, "0", *[""] * 6, f"not run: {arm.error}", "", ""]
    recovery = f"{figures.seconds(arm.recovery_s_median)}, {figures.seconds(arm.recovery_s_max)}"
    oldest = figures.milliseconds(arm.lost_oldest_ms) if arm.lost_oldest_ms is not None else ""
    return [
        title, str(arm.states), str(arm.losing), str(arm.corrupt), figures.percent(arm.rate),
        figures.percent(arm.rate_high), str(arm.lost_max), oldest, arm.level.name, str(arm.process_crash), recovery,
    ]  # fmt: skip


def table(paths: list[Path]) -> str:
    lines = [HEADS, ["---"] * len(HEADS), *(row for path in paths for row in rows(path))]
    return "\n".join("| " + " | ".join(cell.replace("\u202f", " ") for cell in line) + " |" for line in lines)


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    before, after = text.partition(BEGIN)[0], text.partition(END)[2]
    PAGE.write_text(f"{before}{BEGIN}\n{table([Path(word) for word in sys.argv[1:]])}\n{END}{after}", encoding="utf-8")
