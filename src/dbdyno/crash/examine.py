"""One crash state: start the server on what is left, time its recovery, look for damage."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from dbdyno.crash.acks import History
from dbdyno.crash.check import Dataset, Judgement, disagreements, judge, shorten
from dbdyno.crash.hooks import Integrity, file_damage
from dbdyno.crash.rows import JOURNAL, read_rows
from dbdyno.crash.server import CrashServer
from dbdyno.crash.verdict import LOSSLESS
from dbdyno.model.crash import SUBJECT, Control, CrashPlan, Damage, DamageKind, StateResult
from dbdyno.model.errors import DriverError, SandboxError, TargetError
from dbdyno.model.finding import Verdict
from dbdyno.run.driver import check_dataset

START_TIMEOUT_FACTOR = 3.0
"""So many times the contract's recovery time are waited for, so that a breach is measured and not only met."""
CONTROL_TIMEOUT_S = 60.0
"""A control that hangs when it starts has shown what it is there to show."""
DAMAGE_LINES_MAX = 10


@dataclass(frozen=True)
class Moment:
    """Which state it is, and what had to survive in it."""

    id: str
    kind: str
    flush: int | None
    """Last completed flush; None: all of them."""
    time_s: float
    files: bool = False
    """Whether the files are checked, too, after the server was stopped in order: that takes longer."""


@dataclass(frozen=True)
class Examiner:
    """What all states of one configuration share."""

    plan: CrashPlan
    arm: Control
    history: History
    integrity: Integrity
    dataset: Dataset

    def examine(self, server: CrashServer, moment: Moment) -> StateResult:
        """Starts the server, judges, kills it. Raises `DynoError` only when it is the machine that fails."""
        arm = self.arm
        damages: list[Damage] = []
        judgement = Judgement(required=0, lost=0, lost_oldest_ms=None, damages=())
        recovery_s, log_tail, unknown = None, "", ""
        try:
            recovery_s = server.start(arm.settings, timeout_s=self._patience_s())
            judgement, unknown = self._judge(server, moment)
            damages += judgement.damages
            damages += self._engine_damages(server)
            if moment.files and not any(damage.kind.corrupts for damage in damages):
                damages += self._file_damages(server)
        except SandboxError as error:
            damages.append(Damage(kind=DamageKind.START, says=error.what))
            log_tail = error.found
        except TargetError as error:
            damages.append(Damage(kind=DamageKind.ENGINE, says=" ".join(str(error).split())))
        finally:
            if damages and not log_tail:
                log_tail = server.log_tail(DAMAGE_LINES_MAX)
            server.crash()
        kept, left_out = shorten(damages)
        return StateResult(
            id=moment.id,
            arm=arm.name,
            kind=moment.kind,
            verdict=Verdict.FAIL if any(map(self._counts, damages)) else Verdict.UNKNOWN if unknown else Verdict.PASS,
            required=judgement.required,
            lost=judgement.lost,
            lost_oldest_ms=judgement.lost_oldest_ms,
            damages=kept,
            damages_left_out=left_out,
            recovery_s=recovery_s,
            log_tail=log_tail,
            unknown=unknown,
        )

    def _patience_s(self) -> float:
        """How long a start may take."""
        if self.arm.name != SUBJECT:
            return min(CONTROL_TIMEOUT_S, self.plan.recovery_s_max)
        return self.plan.recovery_s_max * START_TIMEOUT_FACTOR

    def _judge(self, server: CrashServer, moment: Moment) -> tuple[Judgement, str]:
        """The workload's part, and why it could not be judged (empty: it could)."""
        if self.plan.workload.name not in LOSSLESS:
            return self._conditions(server)
        session = server.engine.connect(server.target, server.secret)
        try:
            rows = read_rows(session)
        finally:
            session.close()
        found = judge(self.history, self.dataset, rows, flush=moment.flush, time_s=moment.time_s)
        logged = self.integrity.logged(server.target, server.secret, JOURNAL)
        if logged is None:
            return found, ""
        if logged.problem:
            return found, logged.problem if self.plan.log_agrees else ""
        differs = disagreements((row[:2] for row in rows.journal), logged.keys)
        return replace(found, damages=(*found.damages, *differs)), ""

    def _counts(self, damage: Damage) -> bool:
        """Whether it makes the state a bad one: the log that others read must agree where the contract needs it, and a
        control is there to show what it shows."""
        return damage.kind is not DamageKind.LOG or self.plan.log_agrees or self.arm.name != SUBJECT

    def _conditions(self, server: CrashServer) -> tuple[Judgement, str]:
        """Other workloads: their consistency conditions."""
        try:
            events = check_dataset(server.target, server.secret, self.plan.workload)
        except DriverError as error:
            raise TargetError(error.what, found=error.found) from None
        failed = [event for event in events if event["verdict"] == "fail"]
        unknown = [event for event in events if event["verdict"] == "unknown"]
        damages = tuple(
            Damage(kind=DamageKind.INVARIANT, says=f"{event['clause']}: {event['title']}: {event['says']}")
            for event in failed
        )
        says = "; ".join(f"{event['clause']}: {event['says']}" for event in unknown)
        return Judgement(required=0, lost=0, lost_oldest_ms=None, damages=damages), says

    def _engine_damages(self, server: CrashServer) -> list[Damage]:
        found = self.integrity.damages(server.target, server.secret)
        return [Damage(kind=DamageKind.ENGINE, says=says) for says in found[:DAMAGE_LINES_MAX]]

    def _file_damages(self, server: CrashServer) -> list[Damage]:
        server.stop("fast")
        identity = server.record.identity
        commands = self.integrity.file_checks(server.data, Path(server.installation.bin))
        found = [file_damage(command, identity.name if identity else None) for command in commands]
        return [Damage(kind=DamageKind.ENGINE, says=says) for says in found if says][:DAMAGE_LINES_MAX]


def unmountable(arm: Control, moment: Moment, problem: str, fsck: str) -> StateResult:
    """A state whose file system cannot be mounted."""
    return StateResult(
        id=moment.id,
        arm=arm.name,
        kind=moment.kind,
        verdict=Verdict.FAIL,
        damages=(Damage(kind=DamageKind.MOUNT, says=problem),),
        log_tail=fsck,
    )
