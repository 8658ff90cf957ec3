"""Views as text for a terminal: the same content as the pages, without the curves. No colours, no cursor movements.

Control characters of a server's words are shown as their codes, so that a log line cannot steer the terminal.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dbdyno.report import figures
from dbdyno.report.pictures import interval_words
from dbdyno.report.safe import safe
from dbdyno.report.shapes import Arm, Note, Row, RunView, StudyView, Table

UNTOUCHED = ("default", "internal", "override", "")
"""Sources of settings that nobody chose."""
SETTINGS_MAX = 60
"""Most settings in a terminal; the page and JSON have them all."""
_MARKS = {"pass": "pass   ", "fail": "FAIL   ", "unknown": "unknown"}


def run_text(view: RunView) -> str:
    lines = [view.title, " · ".join(view.subtitle), f"status: {view.status}", ""]
    lines += notes_text(view.doubts)
    lines += [view.says, ""]
    for phase in view.phases:
        lines.append(f"{phase.name}: {phase.says}")
        lines += _pairs([(tile.name, f"{tile.value} {tile.unit}".strip(), tile.hint) for tile in phase.tiles])
        lines.append("")
    for table in view.transactions:
        lines += [*_table(table), ""]
    for title, rows in (
        ("errors", view.errors),
        ("counted by the server", view.counters),
        ("settings not at the default", [row for row in view.settings if row.source not in UNTOUCHED][:SETTINGS_MAX]),
        ("environment", view.environment),
        ("cost of watching", view.sampling),
    ):
        lines += _rows(title, rows)
    lines += [text for part, text in view.gone.items() if part != "samples"]
    if view.command:
        lines += ["to repeat it:", f"  {view.command}"]
    return safe("\n".join(lines).rstrip() + "\n")


def study_text(view: StudyView) -> str:
    lines = [view.title, " · ".join(view.subtitle), f"status: {view.status}", ""]
    lines += notes_text(view.doubts)
    lines += [view.answer.says, *view.answer.also, "", "contract"]
    lines += [f"  {_MARKS[check.verdict]}  {check.title}: {check.why}" for check in view.checks]
    lines.append("")
    if view.arms:
        lines += [*_table(_arms(view.arms)), ""]
    for one in view.effects:
        lines.append(
            f"{one.label}, {one.figure}: {figures.ratio(one.ratio)} ({interval_words(one)}), "
            f"{len(one.ratios)} pairs: {one.verdict}"
        )
    if view.effects:
        lines.append("")
    if view.knobs:
        lines += ["winning configuration against the default"]
        for row in view.knobs:
            effect = (
                f"   {figures.ratio(row.effect.ratio)} ({interval_words(row.effect)}) {row.effect.verdict}"
                if row.effect
                else ""
            )
            lines.append(f"  {row.name}: {row.before} → {row.after}{effect}")
        lines.append("")
    lines += [view.trials_says, view.noise_says, *view.gone.values(), ""]
    lines += _rows("environment", view.environment)
    lines += ["what this does not show", *(f"  - {line}" for line in view.caveats)]
    if view.command:
        lines += ["", "to repeat it:", f"  {view.command}"]
    return safe("\n".join(lines).rstrip() + "\n")


def notes_text(notes: Sequence[Note]) -> list[str]:
    if not notes:
        return ["no doubts were recorded", ""]
    lines = ["doubts"]
    for note in notes:
        kind = f"{note.kind.replace('_', ' ')}: " if note.kind else ""
        times = f" ({note.times} times)" if note.times > 1 else ""
        lines.append(
            f"  {'!' if note.grave else '-'} {kind}{note.says}{times}" + (f" To do: {note.helps}" if note.helps else "")
        )
    return [*lines, ""]


def _pairs(rows: Iterable[tuple[str, str, str]]) -> list[str]:
    found = list(rows)
    name, value = (max((len(row[index]) for row in found), default=0) for index in (0, 1))
    return [f"  {row[0]:<{name}}  {row[1]:>{value}}  {row[2]}".rstrip() for row in found]


def _rows(title: str, rows: Sequence[Row]) -> list[str]:
    if not rows:
        return []
    width = max(len(row.name) for row in rows)
    words = (f"unknown ({row.unknown})" if row.unknown else row.value for row in rows)
    return [title, *(f"  {row.name:<{width}}  {word}" for row, word in zip(rows, words, strict=True)), ""]


def _arms(arms: Sequence[Arm]) -> Table:
    heads = ["configuration", "tps", "charged tps", "p99 at rate", "written/txn", "log/txn", "drain", "measured in"]
    rows = [
        [
            one.name,
            figures.number(one.tps),
            figures.number(one.tps_charged),
            figures.milliseconds(one.rate_p99_ms),
            figures.size(one.write_bytes_per_transaction),
            figures.size(one.wal_bytes_per_transaction),
            figures.seconds(one.drain_s),
            one.origin,
        ]
        for one in arms
    ]
    return Table(title="side by side", heads=heads, rows=rows, numeric=[False, *[True] * 6, False])


def _table(table: Table) -> list[str]:
    cells = [table.heads, *table.rows]
    widths = [max(len(row[index]) for row in cells) for index in range(len(table.heads))]
    lines = [table.title]
    for row in cells:
        parts = (
            f"{cell:>{width}}" if right else f"{cell:<{width}}"
            for cell, width, right in zip(row, widths, table.numeric, strict=True)
        )
        lines.append(("  " + "  ".join(parts)).rstrip())
    return lines
