"""`dyno crash`: cuts the power of a private server in many places and shows which promises its configuration keeps."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from dbdyno.cli._options import format_option, seed_option, settings_of
from dbdyno.cli.common import SystemClock, allow_option, console, find_target, home, orderly_end, stamp
from dbdyno.crash import modes
from dbdyno.crash.faults import EIO_ON_DATA, parse_fault
from dbdyno.crash.hooks import choose_controls, controls_of
from dbdyno.crash.prove import Proof, Watcher, clean_work, replay
from dbdyno.crash.store import CrashFolder
from dbdyno.model.crash import ArmOutcome, Control, CrashOutcome, CrashPlan, StateResult
from dbdyno.model.errors import EXIT_ERROR, EXIT_OK, EXIT_WORSE, HostError, UsageError
from dbdyno.model.finding import Verdict
from dbdyno.model.knob import Assignment, Level
from dbdyno.model.record import to_json
from dbdyno.model.target import Permission
from dbdyno.report.crash import arm_line, outcome_lines, state_line, state_lines, write_crash_report
from dbdyno.run.choose import choose_workload, parse_options
from dbdyno.run.driver import list_workloads
from dbdyno.sandbox.options import parse_size
from dbdyno.sandbox.sandbox import Sandbox
from dbdyno.sandbox.targets import Resolved

_STATUS = {Verdict.PASS: EXIT_OK, Verdict.FAIL: EXIT_WORSE, Verdict.UNKNOWN: EXIT_ERROR}
DISK_BYTES = "2G"


@click.command("crash", short_help="Cut the power of a private server and see what survives.")
@click.argument("target", required=False)
@click.argument("workload", default="ledger")
@click.option("--scale", type=int, default=1, show_default=True, help="Size of the dataset.")
@click.option("--option", "-k", "options", multiple=True, metavar="NAME=VALUE", help="Option of the workload.")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="A setting of the configuration on trial; without any, those of the sandbox's last start.",
)
@click.option("--stock", is_flag=True, help="Try the server's default settings (and --set on top).")
@click.option("--states", type=click.IntRange(1, 10_000), default=100, show_default=True, help="Crash states to try.")
@click.option("--controls/--no-controls", default=False, help="Try configurations known to be unsafe, too.")
@click.option("--control", "names", multiple=True, metavar="NAME", help="Only this one; may be repeated.")
@click.option(
    "--control-states", type=click.IntRange(1, 10_000), default=None, help="Of each; a third of --states by default."
)
@click.option("--fs", type=click.Choice(["ext4", "xfs", "btrfs"]), default="ext4", show_default=True)
@click.option(
    "--mode",
    type=click.Choice(modes.MODES),
    default=modes.BLOCK,
    show_default=True,
    help="block: a recorded disk (root); folder: without root, files volatile until synced, --fs means nothing.",
)
@click.option(
    "--fault",
    default="",
    metavar="FAULT",
    help="What the disk does wrong: eio_on_fsync=N, eio_on_data=N (with --mode folder), or full_after=SIZE.",
)
@click.option("--size", default=DISK_BYTES, show_default=True, help="Of the recorded disk; it takes space as it fills.")
@click.option("--threads", type=click.IntRange(1, 1000), default=8, show_default=True, help="Connections that load it.")
@click.option(
    "--time", "load_s", type=click.FloatRange(1, 600), default=4.0, show_default=True, help="Seconds of load."
)
@click.option(
    "--contract",
    "level",
    type=click.Choice([level.name for level in Level][::-1]),
    default="L3",
    show_default=True,
    help="The promise to hold it to.",
)
@click.option(
    "--max-recovery", "recovery_s", type=click.FloatRange(1), default=120.0, show_default=True, help="In seconds."
)
@click.option("--pitr/--no-pitr", default=True, show_default=True, help="Point-in-time recovery is promised, too.")
@click.option("--replication/--no-replication", default=True, show_default=True, help="And a log for replicas.")
@seed_option
@click.option("--name", default=None, help="Name of the proof.")
@click.option("--resume", default=None, metavar="PROOF", help="Go on with a proof that was interrupted.")
@click.option("--replay", "again", default=None, metavar="PROOF/ID", help="Make one crash state again and judge it.")
@click.option("--keep/--drop", default=True, show_default=True, help="Keep the recorded disks, which --replay needs.")
@allow_option
@format_option
def command(target: str | None, workload: str, **flags: Any) -> int:  # fmt: skip
    """Cut the power of TARGET in many places and see what survives.

    A fresh server with the sandbox's binaries runs under load on a disk that records each write and each flush. Then
    many states that a loss of power could have left are mounted one after the other; the server is started on each,
    and each acknowledged transaction is looked for. Only sandboxes are treated so, and their own data is not touched.

    Exit status: 0 the configuration passed; 1 it broke its contract; 2 unknown, or an error; 130 interrupted.

    \b
    Examples:
      dyno crash sandbox:postgresql --stock --controls
      dyno crash sandbox:postgresql --set synchronous_commit=off --contract L2
      dyno crash --replay NAME/subject-STATE
    """
    clock = SystemClock()
    if flags["again"]:
        return _replay(flags["again"], flags["form"], clock)
    if flags["resume"]:
        folder = CrashFolder(_path(flags["resume"]))
        plan = folder.plan()
        resolved = find_target(plan.target.label)
    else:
        if not target:
            raise UsageError("dyno crash needs a TARGET.", todo="see dyno crash --help")
        resolved = find_target(target, flags["allow"])
        plan = _plan(_sandbox(resolved), workload, flags)
        folder = CrashFolder(home().crashes / plan.name)
    model = _sandbox(resolved)
    if reason := modes.why_not(plan.mode, plan.file_system):
        raise HostError(
            "The power-loss proof cannot be run here.",
            found=reason,
            todo="--mode folder needs neither root nor loop devices" if plan.mode == modes.BLOCK else "",
        )
    with model.held(), orderly_end():
        clean_work(model, clock)
        if not flags["resume"]:
            folder.create(plan)
        view = _View(plan, folder, form=flags["form"])
        proof = Proof(plan, model, folder, clock, view.watcher())
        try:
            outcome = proof.run()
        except KeyboardInterrupt:
            console(stderr=True).print(f"interrupted; go on with: dyno crash --resume {plan.name}", markup=False)
            raise
        if not flags["keep"]:
            proof.drop_disks()
    return view.end(outcome)


def _sandbox(resolved: Resolved) -> Sandbox:
    if resolved.sandbox is None:
        raise UsageError(
            "Only the power of a sandbox is cut.",
            found=resolved.target.label,
            todo="name a sandbox of the same version, with the settings to be tried as --set NAME=VALUE",
        )
    resolved.target.require(Permission.CRASH, "cut its power")
    return resolved.sandbox


def _path(proof: str) -> Path:
    """A proof by its name or its folder."""
    return Path(proof) if "/" in proof else home().crashes / proof


def _plan(model: Sandbox, workload: str, flags: dict[str, Any]) -> CrashPlan:
    before: Assignment = {} if flags["stock"] else model.state.assignment
    fault = parse_fault(flags["fault"])
    if fault.startswith(EIO_ON_DATA) and flags["mode"] != modes.FOLDER:
        raise UsageError("A disk does not know which file a flush is for.", found=fault, todo="add --mode folder")
    controls: tuple[Control, ...] = ()
    if flags["controls"] or flags["names"]:
        known = controls_of(model.engine.name, model.installation.version, fault)
        controls = choose_controls(known, flags["names"])
    where = flags["fs"] if flags["mode"] == modes.BLOCK else modes.FOLDER
    name = flags["name"] or f"{stamp()}-{model.engine.name}-{where}"
    return CrashPlan(
        name=name,
        target=model.target,
        installation=model.installation,
        workload=choose_workload(workload, flags["scale"], parse_options(flags["options"]), list_workloads()),
        assignment={**before, **settings_of(flags["settings"])},
        level=Level[flags["level"]],
        recovery_s_max=flags["recovery_s"],
        log_agrees=flags["pitr"] or flags["replication"],
        states=flags["states"],
        controls=controls,
        control_states=(flags["control_states"] or max(5, flags["states"] // 3)) if controls else 0,
        file_system=flags["fs"] if flags["mode"] == modes.BLOCK else modes.NO_FILE_SYSTEM,
        mode=flags["mode"],
        fault=fault,
        seed=flags["seed"],
        threads=flags["threads"],
        load_s=flags["load_s"],
        disk_bytes=parse_size(flags["size"], "size"),
        work=str(model.folder / modes.WORK / name),
        command=tuple(["dyno", *sys.argv[1:]]),
    )


def _replay(words: str, form: str, clock: SystemClock) -> int:
    where, slash, identity = words.rpartition("/")
    if not slash or not where:
        raise UsageError("This names no crash state.", found=repr(words), todo="write --replay PROOF/ID")
    folder = CrashFolder(_path(where))
    plan = folder.plan()
    model = _sandbox(find_target(plan.target.label))
    with model.held(), orderly_end():
        clean_work(model, clock)
        result = replay(plan, model, folder, clock, identity)
    if form == "json":
        click.echo(to_json(result).decode())
    else:
        for line in state_lines(result):
            click.echo(line)
    return _STATUS[result.verdict]


class _View:
    """Progress as it comes: words for people on standard error, or JSON lines on standard output."""

    def __init__(self, plan: CrashPlan, folder: CrashFolder, *, form: str) -> None:
        self.plan, self.folder, self.json = plan, folder, form == "json"
        self.err = console(stderr=True)
        self.err.print(f"proof {plan.name}: {folder.path}", markup=False)

    def watcher(self) -> Watcher:
        return Watcher(on_step=self.step, on_state=self.state, on_arm=self.arm)

    def step(self, arm: str, says: str) -> None:
        self.err.print(f"  {arm}: {says}", markup=False)

    def state(self, result: StateResult, done: int, total: int) -> None:
        if self.json:
            click.echo(to_json(result).decode())
        elif result.verdict is not Verdict.PASS or done % 10 == 0 or done == total:
            self.err.print(f"  {done}/{total}  {state_line(result)}", markup=False)

    def arm(self, arm: ArmOutcome) -> None:
        self.err.print(arm_line(arm), markup=False)

    def end(self, outcome: CrashOutcome) -> int:
        """Prints the verdict, writes the report; the exit status."""
        page = write_crash_report(self.folder.path)
        if self.json:
            click.echo(to_json(outcome).decode())
        else:
            for line in outcome_lines(self.plan, outcome):
                click.echo(line)
            click.echo(f"report: {page}")
        return _STATUS[outcome.verdict]
