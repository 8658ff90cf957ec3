"""Carries out a plan, and takes it back: every step is written down before it is done, so that a stop at any point can
be undone.

An attempt is a folder `applied/<time>/` in the plan's: `journal.jsonl` and copies of the files as they were. The
journal holds for each step first what was there, then that it is done; both are on disk before the next thing happens.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from dbdyno.check.apply_live import Machine
from dbdyno.check.fixes import Plan
from dbdyno.check.fixes_steps import Step
from dbdyno.model.errors import DynoError, HostError, UsageError
from dbdyno.model.finding import Finding, Needs, Verdict
from dbdyno.model.record import Record, from_json, to_json

APPLIED = "applied"
JOURNAL = "journal.jsonl"
_FILES_FIRST = {"line": 0, "fstab": 0, "command": 1}


class Entry(Record, frozen=True, kw_only=True):
    """One line of the journal."""

    event: str
    """`begin`, `before`, `done`, `settings`, `end`, `undone`."""
    step: Step | None = None
    number: int = -1
    state: dict[str, str] = {}
    """What was there, as the step's kind restores it; of `settings` those of the server that were persisted."""
    found: dict[str, str] = {}
    """Of `settings` the values in force before, for servers that cannot read their file again."""
    root: str = ""
    words: str = ""


@dataclass(frozen=True)
class Outcome:
    """What came of it."""

    folder: Path
    done: tuple[str, ...]
    left_out: tuple[str, ...]
    """What could not be done here, with the reason; it was not done by halves."""
    waiting: tuple[str, ...]
    """What takes effect only later: after a restart, a reboot."""
    back: tuple[Finding, ...]
    """Findings that are still there."""
    unseen: tuple[str, ...]
    """Rules whose findings should be gone, and cannot be seen."""
    rolled_back: bool = False


class ServerHand(Protocol):
    """What applying needs of the server."""

    @property
    def writes_file(self) -> bool:
        """Whether it writes the server's own file, so that it can also set what no running server takes."""
        ...

    def change(self, settings: dict[str, str], reset: Sequence[str] | Mapping[str, str]) -> list[str]:
        """Sets, reloads, restarts where needed and possible; returns what still waits. `reset` names go back to what
        the server's file says, or to the values that were found. Raises `DynoError`."""
        ...

    def found(self, names: Sequence[str]) -> tuple[dict[str, str], dict[str, str]]:
        """The values of these settings that are in force, and of those that were set through the server itself."""
        ...

    def alive(self) -> None:
        """Raises `TargetError` when the server does not answer."""
        ...


Recheck = Callable[[], Sequence[Finding]]


def ordered(plan: Plan) -> list[Step]:
    """Files first, then what reads them, then the running machine."""
    seen: dict[tuple[str, ...], Step] = {}
    for step in plan.steps:
        seen.setdefault((step.kind, step.path, step.pattern, step.name, step.value), step)
    return sorted(seen.values(), key=lambda step: _FILES_FIRST.get(step.kind, 2))


def apply(
    plan: Plan,
    folder: Path,
    machine: Machine,
    *,
    server: ServerHand | None,
    recheck: Recheck | None,
    stamp: str,
    on_step: Callable[[str], None] = lambda _: None,
) -> Outcome:
    """Does all steps of a plan. When one fails, the server does not come back, or a finding that should be gone is
    still there, everything is taken back and the error is raised or told in the outcome.

    `stamp` names the attempt (a time). Raises `DynoError`; `UsageError` when an earlier attempt was cut off.
    """
    if (last := last_attempt(folder)) is not None:
        done = ended(last)
        what = "These fixes are in force already." if done else "An earlier attempt was interrupted."
        raise UsageError(what, found=str(last), todo=f"dyno apply --undo {folder}")
    attempt = _new_attempt(folder, stamp)
    journal = Journal(attempt)
    journal.add(Entry(event="begin", root=str(machine.root), words=plan.target))
    work = _Work(machine, journal, attempt, on_step)
    try:
        for number, step in enumerate(ordered(plan)):
            work.do(step, number)
        if server is not None:
            work.set(plan, server)
        else:
            work.later |= set(plan.settings)
        back, unseen = _verify(plan, recheck, work) if recheck is not None else ((), ())
    except BaseException as error:
        on_step("taking everything back")
        left = undo(folder, machine, server=server, on_step=on_step)
        if left and isinstance(error, DynoError):
            error.found = "; ".join(part for part in (error.found, "NOT TAKEN BACK: " + ", ".join(left)) if part)
        raise
    if back:
        on_step("taking everything back: " + ", ".join(finding.rule for finding in back) + " came back")
        undo(folder, machine, server=server, on_step=on_step)
    else:
        journal.add(Entry(event="end"))
    waiting = tuple(dict.fromkeys(work.waiting))
    return Outcome(attempt, tuple(work.done), tuple(work.left_out), waiting, back, unseen, rolled_back=bool(back))


def _new_attempt(folder: Path, stamp: str) -> Path:
    """A folder for the journal, of its own also within one second. Raises `HostError`."""
    for number in range(1, 100):
        attempt = folder / APPLIED / (stamp if number == 1 else f"{stamp}-{number:02}")
        try:
            attempt.mkdir(parents=True)
            return attempt
        except FileExistsError:
            continue
        except OSError as error:
            raise HostError(f"No journal can be kept in {folder}.", found=error.strerror or str(error)) from None
    raise HostError(f"There are too many attempts of {stamp} in {folder}.")


class _Work:
    """The steps of one attempt."""

    def __init__(self, machine: Machine, journal: Journal, attempt: Path, on_step: Callable[[str], None]) -> None:
        self._machine, self._journal, self._attempt, self._on_step = machine, journal, attempt, on_step
        self.done: list[str] = []
        self.left_out: list[str] = []
        self.waiting: list[str] = []
        self.later: set[str] = set()
        """Names of fixes that are not in force yet."""

    def do(self, step: Step, number: int) -> None:
        """What is there is written down, then the step is done, then that is written down."""
        if why := self._machine.cannot(step):
            self.left_out.append(f"{step.for_}: {step.says} ({why})")
            self.later.add(step.for_)
            return
        state = self._machine.observe(step, self._attempt)
        if self._machine.holds(step, state):
            return
        self._journal.add(Entry(event="before", step=step, number=number, state=state))
        self._on_step(step.says)
        self._machine.do(step)
        self._journal.add(Entry(event="done", number=number))
        self.done.append(step.says)
        if step.needs not in (Needs.NOTHING, Needs.REMOUNT):
            self.waiting.append(f"{step.for_}: {step.needs}")
            self.later.add(step.for_)

    def set(self, plan: Plan, server: ServerHand) -> None:
        """All settings of the server at once; it must answer afterwards."""
        out_of_reach = () if server.writes_file else plan.only_in_file
        for name in out_of_reach:
            self.left_out.append(f"{name} = {plan.settings[name]} (only the server's own file and a restart change it)")
            self.later.add(name)
        wanted = {name: value for name, value in plan.settings.items() if name not in out_of_reach}
        if not wanted:
            return
        found, persisted = server.found(list(wanted))
        self._journal.add(Entry(event="settings", state=persisted, found=found, words=" ".join(wanted)))
        self._on_step("settings of the server: " + ", ".join(f"{name} = {value}" for name, value in wanted.items()))
        still = server.change(wanted, ())
        server.alive()
        if not server.writes_file and (fleeting := sorted(set(wanted) - set(server.found(list(wanted))[1]))):
            self.left_out.append(
                f"the server's own file: {', '.join(fleeting)} hold until its next restart; server/ has the lines"
            )
        self.waiting += [f"{name}: {Needs.RESTART}" for name in still]
        self.later |= {*still}
        self.done += [f"{name} = {value}" for name, value in wanted.items()]


def _verify(plan: Plan, recheck: Recheck, work: _Work) -> tuple[tuple[Finding, ...], tuple[str, ...]]:
    """Findings that the steps should have mended at once and did not, and rules that cannot be judged any more."""
    mended = {one.rule for one in plan.findings if not {fix.name for fix in one.fixes} & work.later}
    again = [one for one in recheck() if one.rule in mended]
    back = tuple(one for one in again if one.verdict is Verdict.FAIL and _whole(plan, one))
    seen = {one.rule for one in again if one.verdict is not Verdict.UNKNOWN}
    return back, tuple(sorted(mended - seen))


def _whole(plan: Plan, finding: Finding) -> bool:
    """Whether all that the finding wanted was in the plan; one that also needs a person may stay."""
    by_hand = {(fix.kind, fix.name) for fix in plan.by_hand}
    return not any((fix.kind, fix.name) in by_hand for fix in finding.fixes)


def undo(
    folder: Path,
    machine: Machine,
    *,
    server: ServerHand | None,
    on_step: Callable[[str], None] = lambda _: None,
) -> list[str]:
    """Takes the last attempt back, whole or cut off, from its end to its beginning. Returns what could not be taken
    back, in words; calling it again tries those again. Raises `UsageError` when there is nothing to undo."""
    attempt = last_attempt(folder)
    if attempt is None:
        raise UsageError(f"Nothing of {folder} is in force.", todo="dyno apply --yes applies it")
    entries = list(read_journal(attempt))
    begin = next((one for one in entries if one.event == "begin"), None)
    if begin is not None and begin.root != str(machine.root):
        raise UsageError("That was applied to another root.", found=begin.root, todo=f"add --root {begin.root}")
    left: list[str] = []
    for entry in reversed(entries):
        try:
            if entry.event == "before" and entry.step is not None:
                on_step(f"back: {entry.step.says}")
                machine.restore(entry.step, entry.state, attempt)
            elif entry.event == "settings":
                _settings_back(entry, server, on_step)
        except (DynoError, OSError) as error:
            says = entry.step.says if entry.step else entry.words
            left.append(f"{says}: {error}")
    for command in {one.step.value: None for one in entries if one.step and one.step.kind == "command"}:
        machine.run_quietly(command)
    if not left:
        Journal(attempt).add(Entry(event="undone"))
    return left


def _settings_back(entry: Entry, server: ServerHand | None, on_step: Callable[[str], None]) -> None:
    """What was persisted gets its value, the rest goes back to what the server's file says."""
    if server is None:
        raise HostError(f"The server's settings {entry.words} need the server.", todo="name it with --target")
    on_step(f"back: settings of the server: {entry.words}")
    others = [name for name in entry.words.split() if name not in entry.state]
    found = {name: entry.found[name] for name in others if name in entry.found}
    if waiting := server.change(dict(entry.state), found if len(found) == len(others) else others):
        on_step(f"back after a restart of the server: {', '.join(waiting)}")
    server.alive()
    now, _ = server.found(list(entry.found))
    other = [
        f"{name} = {now.get(name)}"
        for name in entry.found
        if name not in waiting and now.get(name) != entry.found[name]
    ]
    if other:
        raise HostError(
            "The server has other values than before.",
            found=", ".join(other),
            todo="see the undo statements in server/",
        )


class Journal:
    """Lines that are on disk when `add` returns."""

    def __init__(self, attempt: Path) -> None:
        self._path = attempt / JOURNAL

    def add(self, entry: Entry) -> None:
        with self._path.open("ab") as file:
            if file.tell() and not self._path.read_bytes().endswith(b"\n"):
                # The last line was cut off by a crash: it must not swallow this one.
                file.write(b"\n")
            file.write(to_json(entry) + b"\n")
            file.flush()
            os.fsync(file.fileno())


def read_journal(attempt: Path) -> Iterator[Entry]:
    """Whole lines; a last one that was cut off is of a step that had not begun."""
    try:
        lines = (attempt / JOURNAL).read_bytes().split(b"\n")
    except FileNotFoundError:
        return
    for line in lines:
        try:
            yield from_json(line, Entry)
        except ValueError:
            continue


def last_attempt(folder: Path) -> Path | None:
    """The latest attempt that was not undone; None when nothing is in force."""
    attempts = sorted(path for path in (folder / APPLIED).glob("*") if path.is_dir())
    open_ones = [path for path in attempts if not any(one.event == "undone" for one in read_journal(path))]
    return open_ones[-1] if open_ones else None


def ended(attempt: Path) -> bool:
    return any(one.event == "end" for one in read_journal(attempt))
