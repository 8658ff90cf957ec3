"""Findings made into files that mend: what goes where, in which order, and what a person has to do.

A plan is a folder: `fixes.json` for `dyno apply`, the same as `apply.sh` and `undo.sh` for machines without us, and the
files themselves for whoever rolls them out by other means.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

from dbdyno.check import fixes_files, fixes_script
from dbdyno.check.book import engine_module
from dbdyno.check.fixes_steps import Step, steps_of
from dbdyno.check.result import Checked
from dbdyno.engines.registry import checkable_named
from dbdyno.model.engine import Advised
from dbdyno.model.errors import UsageError
from dbdyno.model.fact import Fact
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Fix, Needs, Verdict
from dbdyno.model.knob import Assignment
from dbdyno.model.record import Record, from_json, to_json

FIX_FORMAT = 1
PLAN = "fixes.json"
_BEFORE_CHARACTERS_MAX = 200
PLAN_BYTES_MAX = 16 << 20


class Plan(Record, frozen=True, kw_only=True):
    """All that one audit wants changed."""

    format: int = FIX_FORMAT
    target: str
    engine: str = ""
    host: str = ""
    """The machine as the audit called it: `local`, `ssh://…`, a folder; empty when it was not examined."""
    findings: tuple[Finding, ...] = ()
    """Those that the steps mend."""
    boot_id: str = ""
    """Of the machine when it was looked at: fixes for another one are not for this one."""
    steps: tuple[Step, ...] = ()
    settings: dict[str, str] = {}
    """Settings of the server, in its own words."""
    settings_before: dict[str, str] = {}
    only_in_file: tuple[str, ...] = ()
    """Of the settings those that the running server does not take: its own file, and a restart, change them."""
    restart: bool = False
    """Whether a setting needs a restart of the server."""
    by_hand: tuple[Fix, ...] = ()
    """What no program should do by itself."""
    notes: tuple[str, ...] = ()
    server: tuple[Fact, ...] = ()
    """What the server said of itself (`server.*`): with it the machine is judged again without the server."""

    @property
    def rules(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(finding.rule for finding in self.findings))


def chosen(findings: Iterable[Finding]) -> tuple[list[Fix], list[str]]:
    """The fixes of all findings that failed, each change once; the worst finding goes first. Two that want different
    values of one thing are a fault of the rules: the first is kept, and the other is told."""
    ranked = sorted(
        (one for one in findings if one.verdict is Verdict.FAIL), key=lambda one: one.severity.rank, reverse=True
    )
    kept: dict[tuple[str, str], tuple[Fix, str]] = {}
    notes = []
    for finding in ranked:
        for fix in finding.fixes:
            key = (fix.kind, fix.name)
            if key not in kept:
                kept[key] = (fix, finding.rule)
            elif kept[key][0].value != fix.value:
                first, rule = kept[key]
                notes.append(
                    f"{rule} wants {fix.name} = {first.value}, {finding.rule} wants {fix.value}: the first is kept"
                )
    return [fix for fix, _ in kept.values()], notes


def plan_of(checked: Checked) -> Plan:
    """What to change, from an audit."""
    fixes, notes = chosen(checked.findings)
    facts = Facts(checked.facts)
    steps: list[Step] = []
    by_hand: list[Fix] = []
    settings: list[Fix] = []
    for fix in fixes:
        if fix.kind == "setting" and fix.needs is not Needs.PERSON and fix.needs is not Needs.REBUILD:
            settings.append(fix)
        elif made := steps_of(fix, facts):
            steps += made
        else:
            by_hand.append(fix)
    mended = tuple(
        finding
        for finding in checked.findings
        if finding.verdict is Verdict.FAIL and any(fix not in by_hand for fix in finding.fixes)
    )
    return Plan(
        target=checked.target,
        engine=checked.engine,
        host=checked.host,
        boot_id=facts.text("host.boot_id") if facts.has("host.boot_id") else "",
        findings=mended,
        steps=tuple(steps),
        settings={fix.name: fix.value for fix in settings},
        settings_before={fix.name: fix.before for fix in settings},
        only_in_file=tuple(fix.name for fix in settings if fix.needs is Needs.RESTART and not fix.live),
        restart=any(fix.needs is Needs.RESTART for fix in settings),
        by_hand=tuple(by_hand),
        notes=tuple(notes),
        server=tuple(fact for fact in checked.facts if fact.name.startswith(("server.", "host.server.pid"))),
    )


def write(folder: Path, checked: Checked) -> list[Path]:
    """Writes the plan of an audit into a folder, and returns what was written. Raises `UsageError` when the folder
    holds something else, or a plan of which a part is in force."""
    if folder.exists() and (not folder.is_dir() or (any(folder.iterdir()) and not (folder / PLAN).is_file())):
        raise UsageError(f"{folder} is not empty and holds no fixes.", todo="name a new folder for --fix")
    if (folder / "applied").exists():
        raise UsageError(f"{folder} has been applied; its backups are in it.", todo="name another folder for --fix")
    plan = plan_of(checked)
    texts = {PLAN: to_json(plan).decode() + "\n"}
    texts |= fixes_files.ready_files(plan.steps)
    texts |= _server_files(checked, plan)
    texts["apply.sh"] = fixes_script.apply_script(plan.steps, plan.target)
    texts["undo.sh"] = fixes_script.undo_script(plan.steps, plan.target)
    texts["README.txt"] = _readme(plan, sorted(texts))
    written = []
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        if name.endswith(".sh"):
            path.chmod(0o755)
        written.append(path)
    return written


def read_plan(folder: Path) -> Plan:
    """Raises `UsageError`."""
    path = folder / PLAN
    try:
        if path.stat().st_size > PLAN_BYTES_MAX:
            raise UsageError(f"{path} is larger than {PLAN_BYTES_MAX} bytes.")
        plan = from_json(path.read_bytes(), Plan)
    except OSError as error:
        todo = "make one with dyno check TARGET --fix DIR"
        raise UsageError(f"{folder} holds no fixes.", found=error.strerror or "", todo=todo) from None
    except ValueError as error:
        raise UsageError(f"{path} is no list of fixes.", found=str(error)) from None
    if plan.format > FIX_FORMAT:
        raise UsageError(f"{path} was written by a later version.", found=f"format {plan.format}")
    return plan


def _server_files(checked: Checked, plan: Plan) -> dict[str, str]:
    """Settings of the server as its file takes them, and as statements."""
    if not plan.settings:
        return {}
    assignment: Assignment = dict(plan.settings)
    lines = [
        f"{fix.line}  # {finding.rule}: {_one_line(fix.before)} before"
        for finding in checked.findings
        for fix in finding.fixes
        if fix.kind == "setting" and plan.settings.get(fix.name) == fix.value and fix.line
    ]
    statements: list[str] = []
    with contextlib.suppress(UsageError):
        engine = checkable_named(checked.engine)
        if isinstance(engine, Advised):
            text, statements = engine.render(assignment)
            lines = lines or text.splitlines()
    module = engine_module(checked.engine, "fixfile")
    name, text = _settings_file(module, list(dict.fromkeys(lines)))
    files = {name: text} if lines else {}
    live = [fix.live for finding in checked.findings for fix in finding.fixes if fix.kind == "setting" and fix.live]
    undo = [fix.undo for finding in checked.findings for fix in finding.fixes if fix.kind == "setting" and fix.undo]
    ending = getattr(module, "STATEMENTS", "sql")
    files[f"settings.{ending}"] = "".join(f"{line}\n" for line in dict.fromkeys(live or statements))
    files[f"undo.{ending}"] = "".join(f"{line}\n" for line in dict.fromkeys(undo))
    if module is not None and hasattr(module, "merged_files"):
        # For servers that read one file only: theirs, with the settings in it.
        files |= module.merged_files(plan.settings, Facts(checked.facts))
    return {f"server/{name}": content for name, content in files.items() if content}


def _one_line(text: str) -> str:
    """A server's words inside a comment: they must not end it."""
    words = " ".join(text.split())
    return "".join(one for one in words if one.isprintable())[:_BEFORE_CHARACTERS_MAX] or "empty"


def _settings_file(module: ModuleType | None, lines: list[str]) -> tuple[str, str]:
    """Name and text of a file that the server reads, as its engine has it (`fixfile.py`)."""
    if module is not None:
        name, text = module.settings_file(lines)
        return str(name), str(text)
    return "settings.conf", "".join(f"{line}\n" for line in lines)


def _readme(plan: Plan, names: list[str]) -> str:
    """Words for whoever opens the folder."""
    parts = [
        f"Fixes for {plan.target}.",
        "Read them, then: dyno apply DIR (shows what would be done), dyno apply DIR --yes, dyno apply DIR --undo.\n"
        "Without dyno: sh apply.sh and sh undo.sh, as root; both say what they do and may be run twice.",
        "Files: " + ", ".join(names),
    ]
    if plan.by_hand:
        hand = [
            f"  {fix.name}" + (f": {fix.value or fix.live}" if fix.value or fix.live else "") for fix in plan.by_hand
        ]
        parts.append("To be done by a person:\n" + "\n".join(hand))
    if plan.notes:
        parts.append("Notes:\n" + "\n".join(f"  {note}" for note in plan.notes))
    return "\n\n".join(parts) + "\n"
