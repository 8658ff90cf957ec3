"""`dyno apply`: carries out what `dyno check --fix` wrote, and takes it back."""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from dbdyno.check.apply import APPLIED, Outcome, Recheck, ServerHand, apply, last_attempt, ordered, undo
from dbdyno.check.apply_live import Machine, judge_machine
from dbdyno.check.apply_server import TargetServer
from dbdyno.check.audit import Options, audit
from dbdyno.check.fixes import Plan, read_plan
from dbdyno.check.host import LOCAL, UNKNOWN, find_host
from dbdyno.cli.common import SystemClock, allow_option, console, find_target
from dbdyno.model.errors import EXIT_OK, EXIT_WORSE, HostError, UsageError
from dbdyno.model.finding import Finding
from dbdyno.model.home import find_config
from dbdyno.sandbox.targets import Resolved


@click.command(short_help="Apply fixes that check wrote; undo them.")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--dry-run", is_flag=True, help="Only show what would be done (this is the default).")
@click.option("--yes", is_flag=True, help="Do it.")
@click.option("--undo", "take_back", is_flag=True, help="Take the last attempt back, also one that was cut off.")
@click.option("--target", help="The server, for its settings: a URL, sandbox:…, or a target file.")
@click.option("--root", type=click.Path(path_type=Path, exists=True, file_okay=False), default=Path("/"),
              help="Change the files below this folder instead of this machine.")  # fmt: skip
@allow_option
@click.pass_context
def command(  # noqa: PLR0917 - click passes them by name
    context: click.Context,
    folder: Path,
    dry_run: bool,
    yes: bool,
    take_back: bool,
    target: str | None,
    root: Path,
    allow: tuple[str, ...],
) -> None:
    """Carries out the fixes in DIR, which `dyno check TARGET --fix DIR` wrote. Without --yes it only shows them.

    Files are copied to DIR/applied/<time>/ before they change. What is done is checked by a new audit: when a finding
    comes back, a step fails or the server does not start, everything is taken back. --undo takes it back later. Files
    and values of the machine need root; settings of the server need --target and --allow tune.

    \b
    dyno check postgresql://db/app --fix fixes
    dyno apply fixes
    dyno apply fixes --yes --target postgresql://db/app --allow tune
    dyno apply fixes --undo

    Exit status: 0 done; 1 findings came back and all was taken back, or an undo was not complete; 2 an error.
    """
    if yes and (dry_run or take_back):
        raise UsageError("--yes means to do it; it does not go with --dry-run or --undo.")
    plan, machine = read_plan(folder), Machine(root.resolve())
    if not yes and not take_back:
        _show(plan, machine, folder)
        context.exit(EXIT_OK)
    _require_root(plan, machine)
    if not take_back:
        _require_this_machine(plan, machine)
    with _server(plan, target, allow, take_back) as (hand, resolved):
        if take_back:
            context.exit(_undo(folder, machine, hand))
        if plan.settings and hand is None:
            names = ", ".join(plan.settings)
            if not plan.steps:
                raise UsageError(
                    "These fixes are settings of the server, and no server was named.",
                    found=names,
                    todo="add --target (and --allow tune for one that is not a sandbox)",
                )
            console(stderr=True).print(
                f"NOTE: settings of the server are left out ({names}): no --target", markup=False
            )
        recheck = _recheck(plan, resolved) if machine.live and plan.rules else None
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(SystemClock().unix()))
        outcome = apply(plan, folder, machine, server=hand, recheck=recheck, stamp=stamp, on_step=_say)
    _report(outcome, folder, machine)
    context.exit(EXIT_WORSE if outcome.rolled_back else EXIT_OK)


def _show(plan: Plan, machine: Machine, folder: Path) -> None:
    """The plan as it would be done on this machine, and as it would not."""
    out = console()
    out.print(f"Fixes for {plan.target}: {', '.join(plan.rules) or 'none'}", markup=False)
    for step in ordered(plan):
        if step.kind == "line" and not step.line:
            continue
        why = machine.cannot(step)
        out.print(f"  {'--' if why else '->'} {step.says}" + (f"  (left out: {why})" if why else ""), markup=False)
    for name, value in plan.settings.items():
        only = "; only the server's own file and a restart change it" if name in plan.only_in_file else ""
        out.print(f"  -> {name} = {value}  (was {plan.settings_before.get(name, '?')}{only})", markup=False)
    for fix in plan.by_hand:
        out.print(
            f"  by hand: {fix.name}" + (f": {fix.value or fix.live}" if fix.value or fix.live else ""), markup=False
        )
    for note in plan.notes:
        out.print(f"  note: {note}", markup=False)
    state = last_attempt(folder)
    out.print(f"In force since {state.name}; dyno apply {folder} --undo takes it back." if state
              else f"Nothing was done. dyno apply {folder} --yes does it.", markup=False)  # fmt: skip


def _require_this_machine(plan: Plan, machine: Machine) -> None:
    """Fixes for a machine that was looked at from afar must not change this one."""
    if not machine.live or not plan.steps or plan.host == LOCAL:
        return
    here = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    if here != plan.boot_id:
        raise UsageError(
            f"The fixes are for {plan.host or plan.target}, which is not this machine (or it was started anew).",
            todo="copy DIR there and run sh apply.sh, or dyno check --host local --fix DIR there; --root for a tree",
        )


def _require_root(plan: Plan, machine: Machine) -> None:
    if plan.steps and os.geteuid() != 0 and not os.access(machine.at("/etc"), os.W_OK):
        raise HostError(
            "Files and values of the machine are for root.",
            todo="run it as root, or sh apply.sh with sudo, or --root DIR",
        )


@contextlib.contextmanager
def _server(
    plan: Plan, target: str | None, allow: Sequence[str], take_back: bool
) -> Iterator[tuple[ServerHand | None, Resolved | None]]:
    """The server of the plan, when it is named; a sandbox is started for it."""
    if target is None:
        yield None, None
        return
    resolved = find_target(target, allow, make=False)
    if plan.engine and resolved.kind.name != plan.engine and not take_back:
        raise UsageError(f"The fixes are for {plan.engine}.", found=f"{target} is {resolved.kind.name}")
    hand = TargetServer(resolved, SystemClock())
    with resolved.serving() as serving:
        yield hand, serving


def _recheck(plan: Plan, resolved: Resolved | None) -> Recheck:
    """A new audit of what was mended: of server and machine, or of the machine with what the server said before."""
    options = Options(clock=SystemClock(), config=find_config(os.environ), token=secrets.token_hex(8), only=plan.rules)

    def again() -> Sequence[Finding]:
        if resolved is not None:
            host = find_host(LOCAL if plan.host == LOCAL else UNKNOWN, None)
            return audit(resolved.target, resolved.secret, resolved.kind, host, options).findings
        return judge_machine(plan, SystemClock())

    return again


def _undo(folder: Path, machine: Machine, hand: ServerHand | None) -> int:
    left = undo(folder, machine, server=hand, on_step=_say)
    err = console(stderr=True)
    for words in left:
        err.print(f"NOT TAKEN BACK: {words}", markup=False)
    if not left:
        console().print("All is as it was.", markup=False)
    return EXIT_WORSE if left else EXIT_OK


def _report(outcome: Outcome, folder: Path, machine: Machine) -> None:
    out = console()
    for words in outcome.left_out:
        out.print(f"left out: {words}", markup=False)
    if outcome.unseen:
        out.print(f"not verified, for it cannot be seen: {', '.join(outcome.unseen)}", markup=False)
    for words in outcome.waiting:
        out.print(f"takes effect after a {words.rsplit(': ', 1)[-1]}: {words.rsplit(': ', 1)[0]}", markup=False)
    if outcome.rolled_back:
        for finding in outcome.back:
            out.print(f"came back: {finding.rule} {finding.says}", markup=False)
        out.print("ALL WAS TAKEN BACK.", markup=False)
        return
    checked = "" if machine.live else " Only files were changed: nothing could be verified."
    out.print(f"{len(outcome.done)} changes done.{checked} Backups: {folder / APPLIED / outcome.folder.name}.",
              markup=False)  # fmt: skip
    out.print(f"dyno apply {folder} --undo takes them back.", markup=False)


def _say(words: str) -> None:
    console().print(f"  {words}", markup=False)
