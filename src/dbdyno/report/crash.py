"""A power-loss proof as words, and as a page: pure functions of its folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import dbdyno
from dbdyno.crash.store import PLAN, CrashFolder
from dbdyno.model.crash import SUBJECT, ArmOutcome, CrashOutcome, CrashPlan, StateResult
from dbdyno.model.finding import Verdict
from dbdyno.model.record import Record
from dbdyno.report import figures, html
from dbdyno.report.files import write_page
from dbdyno.report.safe import safe
from dbdyno.report.shapes import Link, Note, Row, Table
from dbdyno.report.words import shell, workload_words

PAGE = "report.html"
_MARKS = {Verdict.PASS: "pass", Verdict.FAIL: "FAIL", Verdict.UNKNOWN: "unknown"}
_BAD_SHOWN = 12
LEVELS = {
    "L3": "every acknowledged transaction survives a loss of power, nothing is torn",
    "L2": "a bounded tail may be lost, nothing is torn",
    "L1": "safe against a crash of the process only",
    "L0": "corruption is possible",
}


class CrashView(Record, frozen=True, kw_only=True):
    """All that the page says."""

    title: str
    status: str
    verdict: Verdict
    subtitle: list[str]
    says: str
    also: list[str] = []
    doubts: list[Note] = []
    tables: list[Table] = []
    bad: list[Note] = []
    plan: list[Row] = []
    links: list[Link] = []
    command: str = ""


def is_proof(path: Path) -> bool:
    """Whether the folder holds a power-loss proof."""
    return (path / PLAN).is_file()


def view_proof(path: Path) -> CrashView:
    """Reads a proof. Raises `RecordError` when the folder is none."""
    folder = CrashFolder(path)
    plan = folder.plan()
    outcome = folder.outcome() or CrashOutcome(status="interrupted")
    bad = [one for one in folder.states() if one.verdict is not Verdict.PASS]
    files = sorted(one.name for one in path.iterdir() if one.suffix in (".json", ".jsonl", ".log"))
    return CrashView(
        title=f"Power-loss proof of {plan.target.label}",
        status=outcome.status,
        verdict=outcome.verdict,
        subtitle=[
            plan.installation.version_text,
            f"{plan.file_system}, mode {plan.mode}",
            workload_words(plan.workload),
            f"{plan.threads} connections",
            f"seed {plan.seed}",
            figures.seconds(outcome.seconds),
        ],
        says=headline(outcome),
        also=[line for line in (level_words(outcome), f"Scope: {outcome.scope}." if outcome.scope else "") if line],
        doubts=[Note(says=one, grave=True) for one in _doubts(folder, outcome)],
        tables=[arms_table(outcome), *(_kinds_table(arm) for arm in outcome.arms if arm.kinds)],
        bad=[_bad_note(folder.name, one) for one in bad[:_BAD_SHOWN]],
        plan=_plan_rows(plan),
        links=[Link(name=name, href=name, says=_FILES.get(name.split("-")[0], "")) for name in files],
        command=shell(plan.command),
    )


_FILES = {
    PLAN: "what was asked",
    "arms.jsonl": "the recorded loads",
    "states.jsonl": "every crash state with its verdict",
    "outcome.json": "the verdict",
    "acks": "what the load sent and got acknowledged",
    "driver": "the load driver’s words",
}


def headline(outcome: CrashOutcome) -> str:
    """The verdict in one sentence."""
    return f"Power-loss proof: {_MARKS[outcome.verdict]} – {outcome.says or outcome.error or 'nothing was judged'}."


def level_words(outcome: CrashOutcome) -> str:
    if outcome.level is None:
        return ""
    return f"Level reached: {outcome.level.name}, {LEVELS[outcome.level.name]}."


def _doubts(folder: CrashFolder, outcome: CrashOutcome) -> list[str]:
    said = [outcome.error] if outcome.error else []
    said += [f"{arm.name}: {arm.error}" for arm in outcome.arms if arm.error]
    said += sorted({note for one in folder.recordings().values() for note in one.notes})
    said += [
        f"{arm.name} was not caught in {arm.states} states: what it breaks did not show here"
        for arm in outcome.arms
        if arm.caught is False
    ]
    return said


def arms_table(outcome: CrashOutcome) -> Table:
    """The configuration on trial and its negative controls side by side: a control with the level that it reaches at
    most, the rate of bad states with its bound at 95 %, the median recovery with the slowest."""
    heads = ["configuration", "level, most", "caught", "states", "losing", "corrupt", "log differs", "bad, bound"]
    heads += ["lost", "oldest", "recovery"]
    return Table(
        title="configurations",
        heads=heads,
        rows=[_arm_cells(arm) for arm in outcome.arms],
        numeric=[False, False, False, *[True] * 8],
    )


def _arm_cells(arm: ArmOutcome) -> list[str]:
    level = arm.level.name if arm.level is not None else "unknown"
    return [
        arm.name if arm.name == SUBJECT else f"control {arm.name}",
        level if arm.expected is None else f"{level}, {arm.expected.name}",
        {None: "", True: "yes", False: "NO"}[arm.caught],
        figures.grouped(arm.states),
        figures.grouped(arm.losing),
        figures.grouped(arm.corrupt),
        figures.grouped(arm.disagreeing),
        ", ".join(figures.percent(one) for one in (arm.rate, arm.rate_high)),
        figures.grouped(arm.lost_max),
        figures.milliseconds(arm.lost_oldest_ms),
        ", ".join(figures.seconds(one) for one in (arm.recovery_s_median, arm.recovery_s_max)),
    ]


def _kinds_table(arm: ArmOutcome) -> Table:
    rows = [
        [kind, *(figures.grouped(n) for n in (one.states, one.losing, one.corrupt, one.unknown))]
        for kind, one in arm.kinds.items()
    ]
    return Table(
        title=f"crash states of {arm.name} by kind",
        heads=["kind", "states", "losing", "corrupt", "not judged"],
        rows=rows,
        numeric=[False, True, True, True, True],
    )


def _bad_note(folder: str, result: StateResult) -> Note:
    says = "; ".join(damage.says for damage in result.damages[:3]) or result.unknown
    helps = f"dyno crash --replay {folder}/{result.id}" if result.state else ""
    kinds = sorted({str(damage.kind) for damage in result.damages}) or ["unknown"]
    return Note(kind=", ".join(kinds), says=f"{result.id}: {says}", helps=helps, grave=result.corrupt)


def _plan_rows(plan: CrashPlan) -> list[Row]:
    settings = ", ".join(f"{name} = {value}" for name, value in plan.assignment.items())
    return [
        Row(name="promised", value=f"{plan.level.name}: {LEVELS[plan.level.name]}"),
        Row(name="recovery at most", value=figures.seconds(plan.recovery_s_max)),
        Row(name="settings", value=settings or "the server's default"),
        Row(name="server", value=plan.installation.version_text),
        Row(name="file system", value=plan.file_system),
        Row(name="mode", value=plan.mode),
    ]


# Words for a terminal.


def outcome_lines(plan: CrashPlan, outcome: CrashOutcome) -> list[str]:
    """The verdict, the configurations side by side, the commands that make bad states again."""
    lines = [headline(outcome), level_words(outcome)]
    if outcome.scope:
        lines.append(f"Scope: {outcome.scope}.")
    lines += ["", *(arm_line(arm) for arm in outcome.arms)]
    for arm in outcome.arms:
        if arm.name == SUBJECT:
            lines += [f"  to see it again: dyno crash --replay {plan.name}/{identity}" for identity in arm.bad]
    return [safe(line) for line in lines]


def arm_line(arm: ArmOutcome) -> str:
    """One configuration in one line."""
    title = arm.name if arm.name == SUBJECT else f"control {arm.name}"
    if arm.level is None:
        return safe(f"{title}: unknown{': ' + arm.error if arm.error else ''}")
    parts = [f"{title}: {arm.level.name}"]
    if arm.expected is not None:
        caught = {True: "caught", False: "NOT CAUGHT", None: "not finished"}[arm.caught]
        parts[0] += f" ({caught}; {arm.expected.name} at most)"
    parts.append(f"{arm.losing} losing and {arm.corrupt} corrupt of {arm.states} states")
    if arm.disagreeing:
        parts.append(f"in {arm.disagreeing} the log that others read disagrees")
    if arm.unknown:
        parts.append(f"{arm.unknown} not judged")
    if arm.losing:
        parts.append(f"at most {arm.lost_max} transactions, oldest {figures.milliseconds(arm.lost_oldest_ms)}")
    parts.append(f"bad {figures.percent(arm.rate)} (95 % bound {figures.percent(arm.rate_high)})")
    if arm.recovery_s_max is not None:
        median, most = figures.seconds(arm.recovery_s_median), figures.seconds(arm.recovery_s_max)
        parts.append(f"recovery {median}, slowest {most}")
    return safe(", ".join(parts))


def state_line(result: StateResult) -> str:
    """One crash state in one line."""
    if result.verdict is Verdict.PASS:
        return safe(f"{result.id}: pass, {result.required} transactions there, recovery {_recovery(result)}")
    says = "; ".join(f"{damage.kind}: {damage.says}" for damage in result.damages[:2]) or result.unknown
    return safe(f"{result.id}: {_MARKS[result.verdict]} {' '.join(says.split())[:300]}")


def state_lines(result: StateResult) -> list[str]:
    """One crash state in full."""
    lines = [f"{result.id}: {_MARKS[result.verdict]}", f"  kind: {result.kind}"]
    lines += [
        f"  {name}: {result.state[name]}" for name in ("why", "flush_seq", "event", "seed") if name in result.state
    ]
    lines += [f"  had to survive: {result.required} transactions, lost: {result.lost}"]
    lines += [f"  journal replay: {figures.seconds(result.journal_replay_s)}, recovery: {_recovery(result)}"]
    lines += [f"  {damage.kind}: {damage.says}" for damage in result.damages]
    if result.damages_left_out:
        lines.append(f"  … and {result.damages_left_out} more")
    lines += [f"  not judged: {result.unknown}"] if result.unknown else []
    if result.log_tail:
        lines += ["  the end of the server's log:", *(f"    {line}" for line in result.log_tail.splitlines())]
    return [safe(line) for line in lines]


def _recovery(result: StateResult) -> str:
    return "none" if result.recovery_s is None else figures.seconds(result.recovery_s)


def proof_text(view: CrashView) -> str:
    """The page as text."""
    lines: list[str] = [view.title, " · ".join(view.subtitle), f"status: {view.status}", "", view.says, *view.also, ""]
    lines += [f"  ! {note.says}" for note in view.doubts]
    for table in view.tables:
        lines += [*_table_lines(table), ""]
    lines += [f"  {note.says}" + (f"\n    {note.helps}" if note.helps else "") for note in view.bad]
    return safe("\n".join(lines).rstrip() + "\n")


def _table_lines(table: Table) -> Sequence[str]:
    cells = [table.heads, *table.rows]
    widths = [max(len(row[index]) for row in cells) for index in range(len(table.heads))]
    rows = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in cells)
    return [table.title, *(f"  {row}".rstrip() for row in rows)]


def render_proof(view: CrashView) -> str:
    return html.render("crash.html", view=view, charts=[], version=dbdyno.__version__)


def write_crash_report(path: Path, out: Path | None = None) -> Path:
    """Writes the proof's page (`report.html` in its folder by default), returns its path. Raises `RecordError`."""
    return write_page(out or path / PAGE, render_proof(view_proof(path)))
