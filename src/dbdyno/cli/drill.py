"""`dyno drill`: does for real what backups and replicas are there for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import click

from dbdyno.cli._options import format_option, seed_option, settings_of, stacked
from dbdyno.cli.common import SystemClock, console, find_target, orderly_end
from dbdyno.crash.drill.drill import CONTROLS, drill
from dbdyno.model.drill import FAILOVER, RESTORE, Check, DrillPlan, DrillResult
from dbdyno.model.errors import EXIT_ERROR, EXIT_OK, EXIT_WORSE, UsageError
from dbdyno.model.finding import Verdict
from dbdyno.model.record import to_json
from dbdyno.model.target import Permission
from dbdyno.sandbox.sandbox import Sandbox

_STATUS = {Verdict.PASS: EXIT_OK, Verdict.FAIL: EXIT_WORSE, Verdict.UNKNOWN: EXIT_ERROR}
_MARKS = {Verdict.PASS: "pass", Verdict.FAIL: "FAIL", Verdict.UNKNOWN: "unknown"}
_DAMAGES_SHOWN = 5
F = TypeVar("F", bound=Callable[..., Any])


@click.group("drill", short_help="Restore from backup and archive, or fail over to a replica, and check what came.")
def command() -> None:
    """Do for real what backups and replicas are there for, on private servers.

    Exit status: 0 the promise was kept; 1 it was not; 2 unknown, or an error; 130 interrupted.
    """


_common = stacked(
    click.argument("target"),
    click.option(
        "--set",
        "settings",
        multiple=True,
        metavar="NAME=VALUE",
        help="A setting on trial, beside those of the sandbox's last start; it wins over what the drill sets.",
    ),
    click.option("--stock", is_flag=True, help="Leave out the settings of the sandbox's last start."),
    click.option("--threads", type=click.IntRange(1, 1000), default=4, show_default=True, help="Connections."),
    click.option(
        "--time",
        "load_s",
        type=click.FloatRange(0.1, 200),
        default=2.0,
        show_default=True,
        help="Seconds of load before each step.",
    ),
    click.option(
        "--max-recovery",
        "recovery_s",
        type=click.FloatRange(1, 3600),
        default=120.0,
        show_default=True,
        help="Seconds that the recovery or the promotion may take.",
    ),
    seed_option,
    format_option,
)


def _control_option(kind: str) -> Callable[[F], F]:
    says = "; ".join(f"{name}: {what}" for name, what in CONTROLS[kind].items())
    return click.option("--control", type=click.Choice(list(CONTROLS[kind])), help=f"Break it on purpose. {says}.")


@command.command("restore")
@_common
@click.option(
    "--archive-wait",
    "archive_s",
    type=click.FloatRange(0.1, 600),
    default=30.0,
    show_default=True,
    help="Seconds that the log may take into the archive.",
)
@click.option("--tool", default="", help="What makes the backup, where dyno knows several; see the reference.")
@_control_option(RESTORE)
def restore(target: str, **flags: Any) -> int:  # fmt: skip
    """Lose the disk of TARGET and recover to a moment.

    A fresh server with the sandbox's binaries and settings runs under load with its log archived, is backed up
    meanwhile, and loses its data. They are restored and recovered to a moment between two markers; then every
    transaction that was acknowledged before it must be there, and none that began later.

    \b
    Examples:
      dyno drill restore sandbox:postgresql
      dyno drill restore sandbox:mariadb --control no-archive
    """
    plan = {"archive_s_max": flags["archive_s"], "tool": flags["tool"]}
    return _drill(RESTORE, target, flags, plan)


@command.command("failover")
@_common
@click.option(
    "--mode",
    type=click.Choice(["async", "sync"]),
    default="async",
    show_default=True,
    help="Whether the primary waits for its replica, so that nothing may be lost.",
)
@click.option(
    "--max-loss-ms",
    "loss_ms",
    type=click.FloatRange(0),
    default=10_000.0,
    show_default=True,
    help="With async: the oldest acknowledgement that may be lost.",
)
@_control_option(FAILOVER)
def failover(target: str, **flags: Any) -> int:  # fmt: skip
    """Kill the primary with its disk and promote the replica.

    \b
    Examples:
      dyno drill failover sandbox:postgresql
      dyno drill failover sandbox:mariadb --mode sync
    """
    plan = {"synchronous": flags["mode"] == "sync", "loss_ms_max": flags["loss_ms"]}
    return _drill(FAILOVER, target, flags, plan)


def _drill(kind: str, target: str, flags: dict[str, Any], more: dict[str, Any]) -> int:
    clock, err = SystemClock(), console(stderr=True)
    model = _sandbox(target)
    plan = DrillPlan(
        kind=kind,
        assignment={**({} if flags["stock"] else model.state.assignment), **settings_of(flags["settings"])},
        control=flags["control"] or "",
        threads=flags["threads"],
        load_s=flags["load_s"],
        recovery_s_max=flags["recovery_s"],
        seed=flags["seed"],
        **more,
    )

    def on_check(check: Check) -> None:
        err.print(f"  {_line(check)}", markup=False)

    with model.held(), orderly_end():
        result = drill(model, plan, clock, say=lambda says: err.print(f"  {says}", markup=False), on_check=on_check)
    if flags["form"] == "json":
        click.echo(to_json(result).decode())
    else:
        for line in lines(result):
            click.echo(line)
    return _STATUS[result.verdict]


def _sandbox(target: str) -> Sandbox:
    resolved = find_target(target)
    if resolved.sandbox is None:
        raise UsageError(
            "Drills are held on private servers only.",
            found=resolved.target.label,
            todo="name a sandbox of the same version, with the settings to be tried as --set NAME=VALUE",
        )
    resolved.target.require(Permission.CRASH, "destroy it")
    return resolved.sandbox


def _line(check: Check) -> str:
    return f"{_MARKS[check.verdict]:<8}{check.name}: {check.says}"


def lines(result: DrillResult) -> list[str]:
    """The result for people."""
    plan = result.plan
    mode = ", a replica that is waited for" if plan.synchronous else ""
    # A tool that was not used is not named.
    tool = f", {result.tool}" if result.checks else ""
    broken = f", broken on purpose: {plan.control}" if plan.control else ""
    found = [
        f"{_MARKS[result.verdict]}  {result.promise}: {result.says}",
        f"drill {plan.kind} of {result.target} ({result.server}){tool}{mode}{broken}",
        *(f"  {_line(check)}" for check in result.checks),
        *(f"    {damage.says}" for damage in result.damages[:_DAMAGES_SHOWN]),
        *(f"  {what:<24}{words}" for what, words in _figures(result)),
    ]
    return found


def _figures(result: DrillResult) -> Iterator[tuple[str, str]]:
    if result.moment:
        window = f", noted within {result.window_ms:.1f} ms" if result.window_ms is not None else ""
        yield "moment", result.moment + window
    if result.acknowledged is not None:
        yield "acknowledged", f"{result.acknowledged} transactions"
    if result.required is not None:
        words = f"{result.required} had to be there, {result.found} are there"
        yield "checked", f"{words}; {result.between} were under way and may be there or not"
    if result.backup_s is not None:
        size = f", {result.backup_bytes / 1e6:.1f} MB" if result.backup_bytes is not None else ""
        yield "backup", f"{result.backup_s:.2f} s{size}"
    if result.archive_bytes is not None:
        yield "archive", f"{result.archive_bytes / 1e6:.1f} MB"
    if result.restore_s is not None and result.replay_s is not None:
        yield "restore, replay", f"{result.restore_s:.2f} s, {result.replay_s:.2f} s"
    if result.lag_max is not None:
        time = f", {result.lag_ms_max:.1f} ms" if result.lag_ms_max is not None else ""
        yield "lag at most", f"{result.lag_max:.0f} {result.lag_unit}{time} ({result.lag_samples} samples)"
    if result.promote_s is not None:
        yield "promotion", f"{result.promote_s:.2f} s until it took a write"
