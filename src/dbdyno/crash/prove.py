"""The power-loss proof: record a load, cut the power in many places, see what each cut leaves; the same for
configurations that are known to be unsafe, to show that the proof would see it.

What is done next follows from the folder, so that going on after an interruption is the same as not having been
interrupted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from dbdyno.crash import modes
from dbdyno.crash.acks import History, read_history
from dbdyno.crash.examine import Examiner, Moment, unmountable
from dbdyno.crash.hooks import Integrity, integrity_of
from dbdyno.crash.powerloss import CrashState
from dbdyno.crash.record_load import (
    FAILS_SINCE,
    Ground,
    dataset_of,
    disk_folder,
    drop,
    process_folder,
    record_load,
    with_settings,
    work_folder,
)
from dbdyno.crash.server import CrashServer
from dbdyno.crash.store import CrashFolder, Recording
from dbdyno.crash.verdict import LOSSLESS, arm_outcome, outcome
from dbdyno.model.clock import Clock
from dbdyno.model.crash import PROCESS, SUBJECT, ArmOutcome, Control, CrashOutcome, CrashPlan, StateResult
from dbdyno.model.errors import DriverError, DynoError, HostError, SandboxError
from dbdyno.model.finding import Verdict
from dbdyno.sandbox import copying
from dbdyno.sandbox.sandbox import Sandbox

TEARING = ("torn512", "torn4k")
"""Kinds of states that a control gets which breaks nothing but torn pages; in others there is nothing to see."""
TEARING_CHOICE = 6
"""So many times the states are planned for it, to have enough of them that tear a data page."""
AFTER_CHOICE = 3
"""So many times they are planned where the disk fails in the midst of the load, to have enough that lie behind it."""
TORN_PAGE = "data page"
"""In the words of a state in which a data page was being written."""
FILES_EVERY = 10
"""Of so many states one has its files checked by the engine's own tool, which takes an orderly stop."""
FAILURES_MAX = 5
"""So many states in a row that the machine fails to show end the proof."""


@dataclass
class Watcher:
    """Who wants to know how it goes on."""

    on_step: Callable[[str, str], None] = lambda _arm, _says: None
    on_state: Callable[[StateResult, int, int], None] = lambda _result, _done, _total: None
    on_arm: Callable[[ArmOutcome], None] = lambda _arm: None


class Proof:
    """One proof on one sandbox, whose lock must be held. The sandbox's own data is not touched."""

    def __init__(
        self, plan: CrashPlan, model: Sandbox, folder: CrashFolder, clock: Clock, watcher: Watcher | None = None
    ) -> None:
        self.plan, self.model, self.folder, self.clock = plan, model, folder, clock
        self.watcher = watcher or Watcher()
        self._integrity: Integrity = integrity_of(model.engine.name)
        self._started_s = clock.monotonic()
        before = folder.outcome()
        self._before_s = before.seconds if before else 0.0

    def arms(self) -> tuple[Control, ...]:
        """The configuration on trial, then the negative controls."""
        plan = self.plan
        subject = Control(name=SUBJECT, settings=plan.assignment, level=plan.level, says="the configuration on trial")
        controls = plan.controls if plan.control_states else ()
        return (subject, *(with_settings(control, plan.assignment) for control in controls))

    def run(self) -> CrashOutcome:
        """Goes on until all states are judged. Whatever happens, the folder says how far it came and nothing stays
        mounted."""
        status, said = "failed", ""
        try:
            for arm in self.arms():
                self._arm(arm)
            status = "done"
        except KeyboardInterrupt:
            status = "interrupted"
            raise
        except DynoError as error:
            said = str(error)
            raise
        finally:
            found = self._write(status, said)
        return found

    def _write(self, status: str, error: str = "") -> CrashOutcome:
        results, recordings = self.folder.states(), self.folder.recordings()
        arms = [self._sum(arm, results, recordings.get(arm.name)) for arm in self.arms()]
        known = [arm for arm in arms if arm.states or arm.unknown or arm.error or arm.name == SUBJECT]
        seconds = self._before_s + self.clock.monotonic() - self._started_s
        found = outcome(self.plan, known, status=status, seconds=seconds, error=error)
        self.folder.write_outcome(found)
        return found

    def _sum(self, arm: Control, results: Sequence[StateResult], recording: Recording | None) -> ArmOutcome:
        return arm_outcome(
            self.plan,
            arm,
            results,
            acknowledged=recording.acknowledged if recording else 0,
            error=recording.error if recording else "",
        )

    def _arm(self, arm: Control) -> None:
        recording = self.folder.recordings().get(arm.name)
        if recording is None:
            recording = self._record(arm)
        if not recording.error:
            self._judge_all(arm)
        self.watcher.on_arm(self._sum(arm, self.folder.states(), recording))

    def _record(self, arm: Control) -> Recording:
        plan = self.plan

        def say(says: str) -> None:
            self.watcher.on_step(arm.name, says)

        try:
            recording = record_load(plan, arm, Ground(self.model, self.folder, self.clock, self._integrity, say))
        except (SandboxError, DriverError) as error:
            if arm.name == SUBJECT:
                raise
            # A control that this server does not take says nothing about the configuration on trial.
            recording = Recording(arm=arm.name, error=" ".join(str(error).split()))
        self.folder.add_recording(recording)
        return recording

    def _judge_all(self, arm: Control) -> None:
        examiner = self.examiner(arm)
        done = {result.id for result in self.folder.states()}
        count = self.plan.states if arm.name == SUBJECT else self.plan.control_states
        if _process_id(arm) not in done:
            self.watcher.on_step(arm.name, "the process alone dies")
            self._keep(self._process_crash(arm, examiner), 0, count)
        left = self._plan(arm, count)
        total, failures = len(left), 0
        left = [state for state in left if state_id(arm, state) not in done]
        if not left:
            return
        with modes.crash_states(self.plan, disk_folder(self.plan, arm.name), self.clock) as states:
            for done_now, state in enumerate(left, start=total - len(left) + 1):
                result = self.state(arm, examiner, states, state, files=done_now % FILES_EVERY == 1)
                failures = failures + 1 if result.unknown else 0
                self._keep(result, done_now, total)
                if failures >= FAILURES_MAX:
                    raise HostError(f"The last {failures} crash states could not be judged.", found=result.unknown)

    def _plan(self, arm: Control, count: int) -> list[CrashState]:
        """The states to try; first those behind the failure of the disk, or, for a control that only torn pages reveal,
        those in which a page is torn."""
        where = disk_folder(self.plan, arm.name)
        if since := self.folder.recordings()[arm.name].disk.get(FAILS_SINCE):
            found = modes.plan_states(self.plan, where, count * AFTER_CHOICE)
            return sorted(found, key=lambda state: state.flush_seq <= int(since))[:count]
        if not arm.needs_tearing:
            return modes.plan_states(self.plan, where, count)
        found = modes.plan_states(self.plan, where, count * TEARING_CHOICE, TEARING)
        return sorted(found, key=lambda state: TORN_PAGE not in state.why)[:count]

    def _keep(self, result: StateResult, done: int, total: int) -> None:
        self.folder.add_state(result)
        self._write("running")
        self.watcher.on_state(result, done, total)

    # One state.

    def examiner(self, arm: Control) -> Examiner:
        history: History = {}
        if self.plan.workload.name in LOSSLESS:
            history = read_history(self.folder.acks(arm.name))
        return Examiner(
            plan=self.plan, arm=arm, history=history, integrity=self._integrity, dataset=dataset_of(self.plan)
        )

    def state(
        self, arm: Control, examiner: Examiner, states: modes.States, state: CrashState, *, files: bool = True
    ) -> StateResult:
        """Makes one crash state and judges it; `files`: its files, too. What the machine cannot do makes it unknown,
        not bad."""
        began = self.clock.monotonic()
        moment = Moment(
            id=state_id(arm, state), kind=state.kind, flush=state.flush_seq, time_s=state.time_monotonic_s, files=files
        )
        replay_s: float | None = None
        try:
            with states.mounted(state) as mounted:
                if mounted.mount_error:
                    result = unmountable(arm, moment, mounted.mount_error, mounted.fsck)
                else:
                    replay_s = mounted.journal_replay_s
                    result = self._examine(examiner, moment, mounted.point)
        except DynoError as error:
            result = StateResult(
                id=moment.id, arm=arm.name, kind=state.kind, verdict=Verdict.UNKNOWN, unknown=str(error)
            )
        return msgspec.structs.replace(
            result,
            state=msgspec.to_builtins(state),
            journal_replay_s=replay_s,
            seconds=self.clock.monotonic() - began,
        )

    def _examine(self, examiner: Examiner, moment: Moment, point: Path) -> StateResult:
        server = CrashServer(self.model, Path(self.plan.work) / "server", point, self.clock)
        try:
            return examiner.examine(server, moment)
        finally:
            server.forget()

    def _process_crash(self, arm: Control, examiner: Examiner) -> StateResult:
        """The server's process was killed, the machine was not: all that it had handed to the kernel is there."""
        recording = self.folder.recordings()[arm.name]
        moment = Moment(id=_process_id(arm), kind=PROCESS, flush=None, time_s=recording.ended_s)
        where = process_folder(self.plan, arm.name)
        try:
            result = self._examine(examiner, moment, where)
        except DynoError as error:
            result = StateResult(id=moment.id, arm=arm.name, kind=PROCESS, verdict=Verdict.UNKNOWN, unknown=str(error))
        copying.remove_tree(where)
        return result

    # Afterwards.

    def drop_disks(self) -> None:
        """Removes the recorded disks: no state can be made again. The record stays."""
        for arm in self.arms():
            drop(self.plan, arm.name)
        copying.remove_tree(Path(self.plan.work))


def state_id(arm: Control, state: CrashState) -> str:
    return f"{arm.name}-{state.id}"


def _process_id(arm: Control) -> str:
    return f"{arm.name}-{PROCESS}"


def clean_work(model: Sandbox, clock: Clock) -> None:
    """Unmounts and ends whatever a killed proof left on this sandbox, whose lock must be held. Recordings stay."""
    modes.put_away(model.folder, clock)


def replay(plan: CrashPlan, model: Sandbox, folder: CrashFolder, clock: Clock, identity: str) -> StateResult:
    """Makes one state of a proof again and judges it again. Raises `HostError` when its disk is not there any more."""
    known = next((result for result in folder.states() if result.id == identity), None)
    proof = Proof(plan, model, folder, clock)
    arm = next((arm for arm in proof.arms() if known is not None and arm.name == known.arm), None)
    if known is None or arm is None or not known.state:
        ids = ", ".join(result.id for result in folder.states() if result.state)[:400]
        raise HostError(f"The proof {folder.name} has no state {identity}.", found=ids or "no state at all")
    if not disk_folder(plan, arm.name).is_dir():
        raise HostError(
            f"The recorded disk of {known.arm} is gone.",
            found=str(work_folder(plan, arm.name)),
            todo="run the proof anew with --keep",
        )
    state = msgspec.convert(known.state, CrashState)
    with modes.crash_states(plan, disk_folder(plan, arm.name), clock) as states:
        return proof.state(arm, proof.examiner(arm), states, state)
