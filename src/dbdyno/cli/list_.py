"""`dyno list`: runs and studies, newest first."""

from __future__ import annotations

import datetime
from typing import Any

import click
import msgspec

from dbdyno.cli._options import format_option
from dbdyno.cli.common import console, home
from dbdyno.crash.store import CrashFolder
from dbdyno.model.errors import RecordError
from dbdyno.model.record import from_json, to_json
from dbdyno.model.trial import StudyPlan
from dbdyno.run.find import Entry, entries
from dbdyno.run.record import open_run


@click.command("list", short_help="List runs and studies, newest first.")
@format_option
@click.option("-n", "--number", type=click.IntRange(1), help="At most so many.")
def command(form: str, number: int | None) -> None:
    """List the runs and studies of dyno's home folder, newest first."""
    rows = [_row(entry) for entry in entries(home())[:number]]
    if form == "json":
        click.echo(to_json(rows).decode())
        return
    if not rows:
        console(stderr=True).print("There are no runs yet. `dyno bench` makes one.")
        return
    lines = [("name", "kind", "started", "status", "what", "tps", "p99 ms", "doubts")]
    for row in rows:
        started = row["started_unix_s"]
        when = f"{datetime.datetime.fromtimestamp(started):%Y-%m-%d %H:%M}" if started else ""
        figures = (_number(row["tps"]), _number(row["p99_ms"]), str(row["doubts"] or ""))
        lines.append((row["name"], row["kind"], when, row["status"], row["what"], *figures))
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    for line in lines:
        # Figures stand to the right, so that they can be compared by eye; names are never cut.
        cells = [
            cell.rjust(w) if i >= 5 else cell.ljust(w) for i, (cell, w) in enumerate(zip(line, widths, strict=True))
        ]
        click.echo("  ".join(cells).rstrip())


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def _proof(entry: Entry) -> dict[str, Any]:
    folder = CrashFolder(entry.path)
    try:
        plan, outcome = folder.plan(), folder.outcome()
    except RecordError as error:
        return {"status": "not readable", "what": error.what}
    what = f"power loss, {plan.target.label}, {plan.file_system}"
    if outcome is None:
        return {"status": "cut off or running", "what": what}
    level = f", {outcome.level.name}" if outcome.level is not None else ""
    return {"status": str(outcome.status), "what": f"{what}: {outcome.verdict}{level}"}


def _study(entry: Entry) -> dict[str, Any]:
    """A tuning, a ladder or a sweep."""
    try:
        plan = from_json((entry.path / "study.json").read_bytes(), StudyPlan)
        ended = entry.path / "outcome.json"
        status = str(msgspec.json.decode(ended.read_bytes())["status"]) if ended.exists() else "cut off or running"
    except (OSError, KeyError, TypeError, msgspec.MsgspecError) as error:
        return {"status": "not readable", "what": " ".join(str(error).split())}
    verb, workload = next(iter(plan.command[1:2]), "tune"), plan.workload
    return {
        "status": status,
        "what": f"{verb} {plan.target.label}, {workload.name} {workload.scale}, {plan.threads} threads",
    }


def _row(entry: Entry) -> dict[str, Any]:
    row: dict[str, Any] = {
        "name": entry.name, "kind": entry.kind, "path": str(entry.path), "started_unix_s": entry.changed_unix_s,
        "status": "", "what": "", "tps": None, "p99_ms": None, "doubts": 0,
    }  # fmt: skip
    if entry.kind == "proof":
        return row | _proof(entry)
    if entry.kind != "run":
        return row | _study(entry)
    try:
        record = open_run(entry.path)
        outcome = record.outcome
    except RecordError as error:
        return row | {"status": "not readable", "what": error.what}
    plan = record.plan
    what = f"{plan.workload.name} {plan.workload.scale}, {plan.threads} threads" if plan.workload else plan.verb
    row |= {"started_unix_s": record.started_unix_s, "what": plan.title or what}
    if outcome is None:
        return row | {"status": "cut off or running"}
    measured = next((phase for phase in reversed(outcome.phases) if phase.measured), None)
    return row | {
        "status": str(outcome.status),
        "tps": measured.tps if measured else None,
        "p99_ms": measured.response.p99_us / 1e3 if measured else None,
        "doubts": len(outcome.doubts),
    }
