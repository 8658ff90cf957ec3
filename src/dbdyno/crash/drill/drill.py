"""The drills: restore (backup, archive, recovery to a moment) and failover (replica, death of the primary, promotion).

What the subject does wrong is a check that fails, not an error: the engine's module raises `SandboxError` for it. What
the machine lacks is a `HostError` and makes the verdict unknown.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from dbdyno.crash.check import Dataset, shorten
from dbdyno.crash.drill.ground import Ground, Load, Say, backup_of, laid, new_server
from dbdyno.crash.drill.judge import (
    AFTER,
    BEFORE,
    Found,
    Window,
    check_of,
    judge_failover,
    judge_restore,
    verdict_of,
)
from dbdyno.crash.rows import read_rows
from dbdyno.crash.server import CrashServer
from dbdyno.model.clock import Clock
from dbdyno.model.drill import (
    FAILOVER,
    MARKERS,
    RESTORE,
    Backup,
    Check,
    DrillPlan,
    DrillResult,
    Kept,
    Lag,
    Moment,
    Replication,
    Start,
)
from dbdyno.model.errors import HostError, SandboxError, TargetError
from dbdyno.model.finding import Verdict
from dbdyno.model.knob import Assignment
from dbdyno.model.probe import Column, ColumnKind, Probe
from dbdyno.sandbox.copying import remove_tree
from dbdyno.sandbox.sandbox import Sandbox

PROMISES = {RESTORE: "pitr", FAILOVER: "replication"}
CONTROLS = {
    RESTORE: {"no-archive": "the log seems to be archived and is not", "later": "the recovery goes past the moment"},
    FAILOVER: {"cut-off": "the replica stops receiving while the primary goes on"},
}
"""Negative controls by kind: what is broken on purpose. Each must make its drill fail."""
IN_STEP_S = 60.0
_LAG_EVERY_S = 0.2
_POLL_S = 0.05


class _End(Exception):
    """The drill can go no further; the checks say why."""


@dataclass
class _Sheet:
    """What was seen so far."""

    on_check: Callable[[Check], None]
    checks: list[Check] = field(default_factory=list)
    figures: dict[str, Any] = field(default_factory=dict)

    def check(self, name: str, bad: bool, says: str) -> None:
        """Writes a check down. Raises `_End` when it fails."""
        self.keep(check_of(name, bad, says))
        if bad:
            raise _End

    def keep(self, check: Check) -> None:
        self.checks.append(check)
        self.on_check(check)

    def attempt(self, name: str, step: Callable[[], Any]) -> Any:
        """Does a step; when the servers refuse it, that is a check that fails. Raises `_End` then."""
        try:
            return step()
        except (SandboxError, TargetError) as error:
            self.check(name, True, _words(error))

    def found(self, found: Found) -> None:
        for check in found.checks:
            self.keep(check)
        kept, left_out = shorten(found.damages)
        self.figures.update(
            damages=kept,
            damages_left_out=left_out,
            required=found.required,
            found=found.found,
            between=found.between,
            lost=found.lost,
            lost_oldest_ms=found.lost_oldest_ms,
        )


def drill(
    model: Sandbox,
    plan: DrillPlan,
    clock: Clock,
    *,
    say: Say = lambda _: None,
    on_check: Callable[[Check], None] = lambda _: None,
) -> DrillResult:
    """One drill with the binaries of a sandbox, whose lock must be held and whose own data is not touched. Raises
    `DynoError` for what neither passes nor fails: no server, no load. Nothing is left running."""
    began_s = clock.monotonic()
    known = backup_of(model.engine, plan.tool)
    sheet = _Sheet(on_check)
    unknown, tool = "", known[0].tool if known else ""
    if known is None:
        unknown = f"dyno does not know how {model.engine.name} is backed up"
    else:
        unknown = known[0].lacks(model.installation)
    if known is not None and not unknown:
        with laid(model, plan, clock, say) as ground:
            try:
                if plan.kind == RESTORE:
                    _Restore(ground, sheet, known[0]).run()
                else:
                    _Failover(ground, sheet, *known).run()
            except _End:
                pass
            except HostError as error:
                unknown = _words(error)
    sheet.figures.update(tool=tool, seconds=clock.monotonic() - began_s)
    return _result(model, plan, sheet, unknown)


def _result(model: Sandbox, plan: DrillPlan, sheet: _Sheet, unknown: str) -> DrillResult:
    verdict = verdict_of(sheet.checks)
    failed = next((check for check in sheet.checks if check.verdict is Verdict.FAIL), None)
    if failed is not None:
        says = f"{failed.name}: {failed.says}"
    elif unknown:
        verdict, says = Verdict.UNKNOWN, unknown
    else:
        says = _SAYS[plan.kind](plan, sheet.figures)
    return DrillResult(
        target=model.target.label,
        server=f"{model.engine.name} {model.installation.version_text}",
        promise=PROMISES[plan.kind],
        plan=plan,
        verdict=verdict,
        says=says,
        checks=tuple(sheet.checks),
        **sheet.figures,
    )


_SAYS: dict[str, Callable[[DrillPlan, dict[str, Any]], str]] = {
    RESTORE: lambda _plan, figures: (
        f"all {figures['required']} transactions acknowledged before the moment came back, and none of after it"
    ),
    FAILOVER: lambda plan, figures: (
        f"the replica took over with {figures['found']} transactions, {figures['lost']} acknowledged ones lost"
        + ("" if plan.synchronous else " (it was not waited for)")
    ),
}


def _words(error: SandboxError | TargetError | HostError) -> str:
    """In one line, the end of what was found."""
    found = " ".join(error.found.split())
    return f"{error.what} {found[-600:]}".strip()


def _dataset(plan: DrillPlan) -> Dataset:
    return Dataset(accounts=plan.accounts, pages=plan.pages)


def _starter(server: CrashServer, plan: DrillPlan) -> Start:
    """Starts it with settings beside those on trial. Where it stands in the log is the drill's business alone."""

    def start(settings: Assignment) -> float:
        return server.start({**plan.assignment, **settings}, timeout_s=plan.recovery_s_max)

    return start


class _Restore:
    def __init__(self, ground: Ground, sheet: _Sheet, backup: Backup) -> None:
        self.ground, self.sheet, self.backup = ground, sheet, backup
        self.plan, self.clock = ground.plan, ground.clock

    def run(self) -> None:
        ground, sheet, plan = self.ground, self.sheet, self.plan
        archive, copies = ground.own("archive"), ground.own("backup")
        server = new_server(ground, "server")
        broken = plan.control == "no-archive"
        ours = sheet.attempt("archive", lambda: self.backup.settings(ground.place(server), archive, broken=broken))
        sheet.attempt("start", lambda: server.start({**ours, **plan.assignment}))
        place = ground.place(server)
        self.backup.mark(place, "start")
        load = Load(server, ground)
        load.go_on(plan.load_s)
        ground.say(f"{self.backup.tool} under load")
        began_s = self.clock.monotonic()
        sheet.attempt("backup", lambda: self.backup.back_up(place, copies / "base"))
        sheet.figures["backup_s"] = self.clock.monotonic() - began_s
        sheet.figures["backup_bytes"] = ground.bytes_of(copies / "base") or None
        load.go_on(plan.load_s)
        moment, window = self._moment(load, server)
        ground.say("the log goes into the archive")
        lacking = sheet.attempt("archive", lambda: self.backup.ship(place, archive, self.clock, plan.archive_s_max))
        sheet.check("archive", bool(lacking), lacking or "the log up to the moment, and some more, is in it")
        # What lies in a store elsewhere has no size here.
        if sheet.figures["backup_bytes"]:
            sheet.figures["archive_bytes"] = ground.bytes_of(archive)
        history = load.end()
        sheet.figures["acknowledged"] = sum(sent.acked_flush is not None for sent in history.values())
        ground.say("the data are gone; restoring")
        server.crash()
        remove_tree(server.data)
        kept = Kept(copies / "base", archive, moment)
        restored = sheet.attempt(
            "recovery",
            lambda: self.backup.restore(place, kept, _starter(server, plan), self.clock),
        )
        sheet.figures.update(restore_s=restored.restore_s, replay_s=restored.replay_s)
        ground.say("looking for every transaction")
        session = server.engine.connect(server.target, server.secret)
        try:
            rows = sheet.attempt("reading", lambda: read_rows(session))
            markers = sheet.attempt("reading", lambda: [str(row["word"]) for row in session.ask(_MARKERS)])
        finally:
            session.close()
        sheet.found(judge_restore(history, _dataset(plan), rows, markers, window))

    def _moment(self, load: Load, server: CrashServer) -> tuple[Moment, Window]:
        """The marker of before, the moment, the marker of after, while the load goes on."""
        place = self.ground.place(server)
        self.backup.mark(place, BEFORE)
        open_s = self.clock.monotonic()
        moment = self.backup.note(place)
        window = Window(open_s, self.clock.monotonic())
        self.backup.mark(place, AFTER)
        load.go_on(self.plan.load_s)
        self.sheet.figures.update(moment=moment.says, window_ms=(window.closed_s - window.open_s) * 1e3)
        if self.plan.control == "later":
            moment = self.backup.note(place)
            # Something has to come after it, or the log ends before the moment is reached.
            load.go_on(self.plan.load_s / 4)
        return moment, window


_MARKERS = Probe(
    name="markers",
    title="markers of the drill",
    columns=(Column(name="word", kind=ColumnKind.TEXT),),
    query=f"SELECT word FROM {MARKERS}",
    timeout_s=30.0,
)


class _Failover:
    def __init__(self, ground: Ground, sheet: _Sheet, backup: Backup, replication: Replication) -> None:
        self.ground, self.sheet, self.backup, self.replication = ground, sheet, backup, replication
        self.plan, self.clock = ground.plan, ground.clock
        self._lags: list[Lag] = []
        self._asked_s = float("-inf")

    def run(self) -> None:
        ground, sheet, plan = self.ground, self.sheet, self.plan
        primary, replica = self._pair()
        second = ground.place(replica)
        load = Load(primary, ground)
        load.go_on(plan.load_s, lambda: self._watch(primary, replica))
        if plan.control == "cut-off":
            self.replication.cut_off(second)
            load.go_on(plan.load_s)
        ground.say("the primary dies, and its disk with it")
        primary.crash()
        died_s = self.clock.monotonic()
        remove_tree(primary.data)
        history = load.end(server_died=True)
        self._figures()
        sheet.figures["acknowledged"] = sum(sent.acked_flush is not None for sent in history.values())
        began_s = self.clock.monotonic()

        def promote() -> None:
            self.replication.promote(second, self.clock, plan.recovery_s_max)
            self.backup.mark(second, AFTER)

        sheet.attempt("promotion", promote)
        promote_s = self.clock.monotonic() - began_s
        sheet.figures["promote_s"] = promote_s
        late = promote_s > plan.recovery_s_max
        sheet.keep(check_of("promotion", late, f"the replica took a write after {promote_s:.2f} s"))
        ground.say("looking for every transaction")
        session = replica.engine.connect(replica.target, replica.secret)
        try:
            rows = sheet.attempt("reading", lambda: read_rows(session))
        finally:
            session.close()
        loss_ms_max = None if plan.synchronous else plan.loss_ms_max
        sheet.found(judge_failover(history, _dataset(plan), rows, died_s=died_s, loss_ms_max=loss_ms_max))

    def _pair(self) -> tuple[CrashServer, CrashServer]:
        """A primary, and a replica that is in step with it."""
        ground, sheet, plan = self.ground, self.sheet, self.plan
        copies = ground.own("backup")
        primary = new_server(ground, "primary")
        # The control promises what its servers are not set to keep.
        synchronous = plan.synchronous and plan.control != "cut-off"
        settings = {**self.replication.settings(synchronous=synchronous), **plan.assignment}
        sheet.attempt("start", lambda: primary.start(settings))
        ground.say("making a replica")
        place = ground.place(primary)
        began_s = self.clock.monotonic()
        sheet.attempt("backup", lambda: self.backup.back_up(place, copies / "base"))
        sheet.figures["backup_s"] = self.clock.monotonic() - began_s
        sheet.figures["backup_bytes"] = ground.bytes_of(copies / "base") or None
        replica = ground.server("replica")

        def follow() -> None:
            start = _starter(replica, plan)
            self.replication.follow(place, ground.place(replica), copies / "base", start, synchronous=synchronous)

        sheet.attempt("replica", follow)
        deadline = self.clock.monotonic() + IN_STEP_S

        def waiting() -> str:
            return self.replication.waiting_for(place, ground.place(replica), synchronous=synchronous)

        while why := sheet.attempt("replica", waiting):
            if self.clock.monotonic() > deadline:
                sheet.check("replica", True, f"not in step after {IN_STEP_S:g} s: {why}")
            self.clock.sleep(_POLL_S)
        sheet.check("replica", False, "it is in step" + (", and waited for" if synchronous else ""))
        return primary, replica

    def _watch(self, primary: CrashServer, replica: CrashServer) -> None:
        if self.clock.monotonic() - self._asked_s < _LAG_EVERY_S:
            return
        if lag := self.replication.lag(self.ground.place(primary), self.ground.place(replica)):
            self._lags.append(lag)
        self._asked_s = self.clock.monotonic()

    def _figures(self) -> None:
        if not self._lags:
            return
        times = [lag.ms for lag in self._lags if lag.ms is not None]
        self.sheet.figures.update(
            lag_max=max(lag.amount for lag in self._lags),
            lag_unit=self._lags[0].unit,
            lag_ms_max=max(times) if times else None,
            lag_samples=len(self._lags),
        )
