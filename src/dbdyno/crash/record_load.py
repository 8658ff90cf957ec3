"""The load on a recorded disk: a fresh server, a small dataset, clients that log what they get acknowledged."""

from __future__ import annotations

import shutil
import subprocess
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from dbdyno.crash import modes
from dbdyno.crash.acks import read_history
from dbdyno.crash.check import Dataset
from dbdyno.crash.faults import Failing
from dbdyno.crash.hooks import Integrity
from dbdyno.crash.pressure import Pressure
from dbdyno.crash.server import DATA, CrashServer
from dbdyno.crash.store import CrashFolder, Recording
from dbdyno.crash.verdict import LOSSLESS
from dbdyno.model.clock import Clock
from dbdyno.model.crash import Control, CrashPlan
from dbdyno.model.errors import DriverError, SandboxError, TargetError
from dbdyno.model.plan import Phase, Plan, WorkloadSpec
from dbdyno.run.driver import Driver, find_driver, load_dataset, run_plan
from dbdyno.sandbox import copying
from dbdyno.sandbox.sandbox import Sandbox

STIR_EVERY_S = 0.8
"""The server is made to write its data pages so often: they are what a loss of power tears."""
_INTERVAL_S = 0.2
_WORDS_MAX = 300
ACCOUNTS, PAGES = 4000, 64

FAILS_SINCE = "fails_since_flush"
"""In a recording's `disk`: no state up to this flush can show anything of the fault."""

Say = Callable[[str], None]


def work_folder(plan: CrashPlan, arm: str) -> Path:
    return Path(plan.work) / arm


def disk_folder(plan: CrashPlan, arm: str) -> Path:
    return work_folder(plan, arm) / "disk"


def process_folder(plan: CrashPlan, arm: str) -> Path:
    """What the files were when only the server's process died."""
    return work_folder(plan, arm) / "process"


def dataset_of(plan: CrashPlan) -> Dataset:
    """Rows that the ledger's load makes."""
    options = plan.workload.options
    return Dataset(
        accounts=int(options.get("accounts", ACCOUNTS)) * plan.workload.scale, pages=int(options.get("pages", PAGES))
    )


@dataclass(frozen=True)
class Ground:
    """What a recording stands on."""

    model: Sandbox
    folder: CrashFolder
    clock: Clock
    integrity: Integrity
    say: Say


def record_load(plan: CrashPlan, arm: Control, ground: Ground) -> Recording:
    """Records one load. At its end the server's process is killed, its files are copied as they then are, and the
    power goes. Raises `DynoError`; then nothing is mounted and no server runs."""
    folder, clock, integrity, say = ground.folder, ground.clock, ground.integrity, ground.say
    where = disk_folder(plan, arm.name)
    folder.drop_acks(arm.name)
    for leftover in (where, process_folder(plan, arm.name)):
        copying.remove_tree(leftover)
    for made in (where, where / "states"):
        made.mkdir(parents=True, exist_ok=True)
        made.chmod(0o711)
    with modes.recorder(plan, where, clock) as disk:
        server = CrashServer(ground.model, Path(plan.work) / "server", disk.point, clock, preload=arm.preload)
        try:
            say("making a server")
            server.initialise()
            notes = _dataset(plan, server, integrity, say)
            server.start(arm.settings)
            _settle(server)
            disk.make_base()
            failing = Failing(plan.fault, disk, integrity, plan.load_s, unheard=arm.unheard)
            failing.begin()
            say(f"load for {plan.load_s:g} s")
            fell = _run_faulty(plan, arm, server, ground, failing)
            ended_s = clock.monotonic()
            failing.end()
            modes.write_hints(disk, integrity)
            server.crash()
            _copy(server.data, _empty(process_folder(plan, arm.name)) / DATA)
            status = disk.status()
            disk.cut()
        finally:
            server.crash()
            server.forget()
    acknowledged, sent = _count(plan, folder, arm)
    return Recording(
        arm=arm.name,
        acknowledged=acknowledged,
        sent=sent,
        ended_s=ended_s,
        disk={
            **{name: value for name, value in status.items() if isinstance(value, int | float | str | bool)},
            FAILS_SINCE: failing.since_flush,
        },
        notes=tuple(note for note in (notes, fell) if note),
    )


def _empty(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o711)
    return folder


def _copy(source: Path, target: Path) -> None:
    """Byte by byte, from one file system to another. Raises `SandboxError`."""
    done = subprocess.run(["cp", "-a", str(source), str(target)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        raise SandboxError(
            f"The files in {source} could not be copied.",
            found=lines[-1] if lines else f"cp ended with {done.returncode}",
            todo="see whether the disk is full",
        )


def _dataset(plan: CrashPlan, server: CrashServer, integrity: Integrity, say: Say) -> str:
    """Loads with the server's default settings and stops it in order, so that the start is sound whatever the
    configuration. Returns why the engine's own checks cannot be had."""
    server.start({})
    say("loading the dataset")
    load_dataset(server.target, server.secret, plan.workload, threads=1, seed=plan.seed)
    reason = integrity.prepare(server.target, server.secret)
    server.stop()
    return reason


def _settle(server: CrashServer) -> None:
    session = server.engine.connect(server.target, server.secret)
    try:
        session.settle()
    finally:
        session.close()


def _run_faulty(plan: CrashPlan, arm: Control, server: CrashServer, ground: Ground, failing: Failing) -> str:
    """The load; how it ended, where the disk was made to fail and the load met that. What it got acknowledged before
    still binds. Raises as `_run` when the disk was not."""
    try:
        _run(plan, arm, server, ground, failing)
    except (DriverError, TargetError) as error:
        if not plan.fault:
            raise
        return f"with {failing.says} the load ended early: {' '.join(str(error).split())[:_WORDS_MAX]}"
    return f"the load went on to its end in spite of {failing.says}" if plan.fault else ""


def _run(plan: CrashPlan, arm: Control, server: CrashServer, ground: Ground, failing: Failing) -> None:
    """The load, with data pages written now and then. Raises `DriverError`, `TargetError`."""
    folder = ground.folder
    workload = plan.workload
    if workload.name in LOSSLESS:
        files = {"ack_file": str(folder.acks(arm.name)), "stamp_file": str(failing.stamp_file)}
        workload = WorkloadSpec(name=workload.name, scale=workload.scale, options={**workload.options, **files})
    run = Plan(
        target=server.target,
        workload=workload,
        threads=plan.threads,
        workers=1,
        seed=plan.seed,
        interval_s=_INTERVAL_S,
        phases=(Phase(name="load", time_s=plan.load_s),),
    )
    driver = Driver(find_driver(), run_plan(run, server.secret), folder.driver_log(arm.name))
    pressure = Pressure(server.data, plan.seed)
    # All that was there before is on the disk: only what changes from now on is pushed.
    pressure.begin()
    stirred_s = 0.0
    try:
        for _, event in driver.events(threading.Event()):
            at_s = float(event.get("t_s", 0.0))
            if event["event"] != "interval":
                continue
            pressure.push()
            failing.go_on(at_s)
            if at_s - stirred_s >= STIR_EVERY_S:
                stirred_s = at_s
                _stir(plan, server, ground)
        driver.finish()
    finally:
        driver.kill()


def _stir(plan: CrashPlan, server: CrashServer, ground: Ground) -> None:
    """Raises `TargetError`, unless the disk is made to fail: then a server may well refuse, and be asked again."""
    try:
        ground.integrity.stir(server.target, server.secret)
    except TargetError:
        if not plan.fault:
            raise


def _count(plan: CrashPlan, folder: CrashFolder, arm: Control) -> tuple[int, int]:
    """Acknowledged and sent transactions. Raises `DriverError` when there are none to lose."""
    if plan.workload.name not in LOSSLESS:
        return 0, 0
    history = read_history(folder.acks(arm.name))
    acknowledged = sum(sent.acked_flush is not None for sent in history.values())
    if acknowledged == 0:
        raise DriverError("The load got nothing acknowledged.", found=str(folder.driver_log(arm.name)))
    return acknowledged, len(history)


def drop(plan: CrashPlan, arm: str) -> None:
    """Removes the recorded disk of a configuration; its states cannot be made again."""
    shutil.rmtree(work_folder(plan, arm), ignore_errors=True)


def with_settings(control: Control, assignment: dict[str, Any]) -> Control:
    """The control on top of the configuration on trial."""
    return msgspec.structs.replace(control, settings={**assignment, **control.settings})
