"""An audit for a terminal, as one HTML page, and in SARIF. Every word of a server's is escaped for where it goes."""

from __future__ import annotations

import datetime
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import dbdyno
from dbdyno.check.result import Checked, Problem
from dbdyno.model.fact import Scalar
from dbdyno.model.finding import Finding, Fix, Needs, Severity, Verdict
from dbdyno.report.safe import safe

MARKS = {Verdict.PASS: "[OK]", Verdict.FAIL: "[!!]", Verdict.UNKNOWN: "[??]"}
_COLOURS = {Verdict.PASS: "32", Verdict.FAIL: "31", Verdict.UNKNOWN: "33"}
_HEAD = ("target", "version", "level", "critical", "warning", "advice", "unknown", "well", "trouble")
"""Of the table of many targets."""
_EVIDENCE_MAX = 8
_INDENT = 15
"""Columns before the words of a finding's part."""
_WIDTH_MIN = 40
_SAME_REASON_MIN = 3
_MIB, _GIB = 1 << 20, 1 << 30
_UNIX_S_MAX = 1e11
_NEEDS = {
    Needs.NOTHING: "works at once",
    Needs.RELOAD: "after a reload",
    Needs.RESTART: "after a restart of the server",
    Needs.REMOUNT: "after a remount",
    Needs.REBOOT: "after a reboot",
    Needs.REBUILD: "after a rebuild",
    Needs.PERSON: "somebody has to decide",
}


def audit_text(checked: Checked, *, colour: bool = False, verbose: bool = False, width: int | None = None) -> str:
    """The findings with all that is needed to act on them, then what is unknown, then what is well. Prose is folded to
    `width` columns, commands never are; without a width every line is one."""
    lines = [_line(_heading(checked)), *_level_lines(checked), ""]
    lines += [line for problem in checked.problems for line in _problem_lines(problem, width)]
    for finding in checked.of(Verdict.FAIL):
        lines += [*_finding_lines(finding, colour, width), ""]
    mark = _mark(Verdict.UNKNOWN, colour)
    for words in _unknown(checked.of(Verdict.UNKNOWN), verbose):
        lines += [_line(line) for line in _fold(f"{mark} {words}", width, 5)]
    passed = checked.of(Verdict.PASS)
    if verbose:
        lines += [_line(f"{_mark(one.verdict, colour)} {one.rule} {one.title}") for one in passed]
    elif passed:
        names = " ".join(dict.fromkeys(one.rule for one in passed))
        lines += [_line(line) for line in _fold(f"{_mark(Verdict.PASS, colour)} {len(passed)}: {names}", width, 5)]
    if checked.generated is not None:
        lines += ["", checked.generated.text]
    return "\n".join([*lines, "", summary_line(checked)]) + "\n"


def summary_line(checked: Checked) -> str:
    """How many of what, in one line."""
    counts = ", ".join(f"{checked.failed(one)} {one}" for one in sorted(Severity, key=lambda s: -s.rank))
    accepted = f", {len(checked.accepted)} accepted" if checked.accepted else ""
    return (
        f"{len(checked.of(Verdict.FAIL))} findings ({counts}), {len(checked.of(Verdict.UNKNOWN))} unknown, "
        f"{len(checked.of(Verdict.PASS))} well, {len(checked.not_applicable)} not applicable{accepted}; "
        f"{checked.seconds:.2f} s"
    )


def table_text(audits: Sequence[Checked]) -> str:
    """One line a target, for many."""
    rows = [_HEAD, *(_row(one) for one in audits)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    numbers = range(3, 8)
    lines = [
        "  ".join(
            cell.rjust(width) if column in numbers else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    return "\n".join(lines) + "\n"


def _row(checked: Checked) -> tuple[str, ...]:
    fatal = [problem for problem in checked.problems if problem.fatal]
    counts = [str(checked.failed(one)) for one in sorted(Severity, key=lambda s: -s.rank)]
    row = (
        checked.target, checked.server or "-", checked.level.name if checked.level is not None else "-", *counts,
        str(len(checked.of(Verdict.UNKNOWN))), str(len(checked.of(Verdict.PASS))), fatal[0].what if fatal else "",
    )  # fmt: skip
    return tuple(_line(cell)[:120] for cell in row)


def _heading(checked: Checked) -> str:
    parts = [checked.target, f"version {checked.server}" if checked.server else "", f"host {checked.host or '-'}"]
    return " · ".join(part for part in parts if part)


def _level_lines(checked: Checked) -> list[str]:
    if checked.level is None:
        return ["durability: not known"] if checked.engine else []
    lacks = f"; without {', '.join(checked.lacking)}" if checked.lacking else ""
    return [f"durability: the settings permit {checked.level.name}{lacks}"]


def _unknown(findings: Sequence[Finding], verbose: bool) -> Iterator[str]:
    """One line a rule; rules that lack the same thing share a line, so that a server out of reach is not told of two
    dozen times."""
    groups: dict[str, list[Finding]] = {}
    for finding in findings:
        _, unseen, rest = finding.says.partition("cannot be seen: ")
        reason = rest.partition(": ")[2] if unseen and not verbose else ""
        groups.setdefault(reason or finding.rule, []).append(finding)
    for reason, group in groups.items():
        if len(group) >= _SAME_REASON_MIN:
            yield f"{len(group)} rules: {reason}: {' '.join(one.rule for one in group)}"
        else:
            yield from (f"{one.rule} {one.title}: {one.says}" for one in group)


def _problem_lines(problem: Problem, width: int | None) -> list[str]:
    lines = _fold(f"NOT SEEN ({problem.source}): {problem.what}", width, 5)
    lines += _fold(f"     found: {problem.found}", width, 12) if problem.found else []
    lines += _fold(f"     to do: {problem.todo}", width, 12) if problem.todo else []
    return [_line(line) for line in lines] + [""]


def _finding_lines(finding: Finding, colour: bool, width: int | None) -> list[str]:
    lines = _fold(f"{_mark(finding.verdict, colour)} {finding.rule} {finding.severity}: {finding.says}", width, 5)
    lines += _part("why", finding.why, width) + _part("evidence", evidence_text(finding), width)
    lines += _part("do", finding.remedy, width)
    for fix in finding.fixes:
        lines += _part("fix", fix_text(fix))
    keeps = f" Keeps {finding.durability.name}." if finding.durability is not None else ""
    lines += _part("risk", finding.risk + keeps, width) + _part("verify", finding.verify) + _part("undo", finding.undo)
    return [_line(line) for line in [*lines, *_part("source", finding.source, width)]]


def _part(name: str, text: str, width: int | None = None) -> list[str]:
    one, *more = [part for line in text.strip().split("\n") for part in _fold(line, width and width - _INDENT, 0)]
    return [f"     {name + ':':9} {one}", *(f"{'':{_INDENT}}{line}" for line in more)] if one else []


def _fold(line: str, width: int | None, indent: int) -> list[str]:
    """The line in pieces of at most so many columns; a word that is longer stays whole."""
    if width is None or len(line) <= width:
        return [line]
    return textwrap.wrap(
        line, max(width, _WIDTH_MIN), subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False
    )


def shown(name: str, value: Scalar) -> str:
    """A value of the evidence: a day for seconds since 1970, and a size beside many bytes."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if name.endswith("unix_s") and 0 < value < _UNIX_S_MAX:
        return datetime.datetime.fromtimestamp(value, datetime.UTC).date().isoformat()
    if name.endswith("_bytes") and value >= _MIB:
        return f"{value} ({value / _GIB:.3g} GiB)" if value >= _GIB else f"{value} ({value / _MIB:.3g} MiB)"
    return str(value)


def evidence_text(finding: Finding) -> str:
    shown_ = [f"{name} = {shown(name, value)}" for name, value in list(finding.evidence.items())[:_EVIDENCE_MAX]]
    more = len(finding.evidence) - len(shown_)
    return ", ".join(shown_) + (f" and {more} more" if more > 0 else "")


def fix_text(fix: Fix) -> str:
    """The command, the file and line in which it lasts, and what it needs."""
    lasting = f"{fix.file}: {fix.line}" if fix.line else fix.file
    return "\n".join([*(part for part in (fix.live, lasting) if part), f"({_NEEDS[fix.needs]})"])


def _mark(verdict: Verdict, colour: bool) -> str:
    return f"\x1b[{_COLOURS[verdict]}m{MARKS[verdict]}\x1b[0m" if colour else MARKS[verdict]


def _line(text: str) -> str:
    """One line without control characters; our own colour at its beginning may stay."""
    for verdict, mark in MARKS.items():
        coloured = f"\x1b[{_COLOURS[verdict]}m{mark}\x1b[0m"
        if text.startswith(coloured):
            return coloured + _line(text.removeprefix(coloured))
    return safe(text.replace("\n", " "))


def audit_html(audits: Sequence[Checked]) -> str:
    """One self-contained page for one or many targets."""
    from dbdyno.report.html import render

    table = [_HEAD, *(_row(one) for one in audits)] if len(audits) > 1 else []
    return render(
        "audit.html", audits=audits, table=table, marks=MARKS, fix_text=fix_text, shown=shown, summary=summary_line
    )


def audit_sarif(audits: Sequence[Checked]) -> dict[str, Any]:
    """SARIF 2.1.0 (OASIS, 2020), as code hosts and editors read it: a run a target."""
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [_sarif_run(checked) for checked in audits],
    }


_SARIF_LEVELS = {Severity.CRITICAL: "error", Severity.WARNING: "warning", Severity.ADVICE: "note"}
_SARIF_KINDS = {Verdict.FAIL: "fail", Verdict.UNKNOWN: "open", Verdict.PASS: "pass"}


def _sarif_run(checked: Checked) -> dict[str, Any]:
    rules = {finding.rule: finding for finding in checked.findings}
    return {
        "tool": {
            "driver": {
                "name": "dyno",
                "version": dbdyno.__version__,
                "rules": [
                    {"id": name, "shortDescription": {"text": _no_link(one.title or name)},
                     "help": {"text": _no_link(one.source or "-")}}
                    for name, one in sorted(rules.items())
                ],
            }
        },
        "results": [_sarif_result(checked, finding) for finding in checked.findings],
        "invocations": [
            {
                "executionSuccessful": not any(problem.fatal for problem in checked.problems),
                "toolExecutionNotifications": [
                    {"level": "error" if problem.fatal else "warning",
                     "message": {"text": _no_link(" ".join(filter(None, (problem.what, problem.found, problem.todo))))}}
                    for problem in checked.problems
                ],
            }
        ],
    }  # fmt: skip


def _sarif_result(checked: Checked, finding: Finding) -> dict[str, Any]:
    fixes = "; ".join(_sentences(finding.fixes))
    text = " ".join(filter(None, (finding.says, finding.remedy, fixes)))
    return {
        "ruleId": finding.rule,
        "kind": _SARIF_KINDS[finding.verdict],
        "level": _SARIF_LEVELS[finding.severity] if finding.verdict is Verdict.FAIL else "none",
        "message": {"text": _no_link(text or finding.title)},
        "locations": [{"logicalLocations": [{"fullyQualifiedName": checked.target, "kind": "resource"}]}],
        "partialFingerprints": {"dynoRule/v1": f"{checked.target}/{finding.rule}/{'/'.join(finding.evidence)}"},
    }


def _no_link(text: str) -> str:
    """A server's words must not become a link in the reader's viewer (SARIF 2.1.0, 3.11.6 Messages with embedded
    links)."""
    return text.replace("](", "] (")


def _sentences(fixes: Iterable[Fix]) -> Iterator[str]:
    for fix in fixes:
        yield fix.live or f"{fix.file}: {fix.line}"
