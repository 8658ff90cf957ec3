"""`dyno watch`: the view that stays open beside a server, and replays a record."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dbdyno.cli._host import host_option, machine_of
from dbdyno.cli.common import SystemClock, find_target, home
from dbdyno.hosts.registry import Watch
from dbdyno.model.errors import EXIT_OK, RecordError, UsageError
from dbdyno.run.find import find_run

if TYPE_CHECKING:
    from dbdyno.view.source import Source


@click.command("watch", short_help="Keep an eye on a server, or replay a record.")
@click.argument("target", metavar="TARGET|RUN")
@click.option(
    "--every",
    "every_s",
    type=click.FloatRange(0.2, 3600),
    default=1.0,
    show_default=True,
    help="Seconds between samples.",
)
@click.option("--span", "span_s", type=click.FloatRange(10), default=60.0, show_default=True, help="Seconds in sight.")
@host_option
@click.option("--once", is_flag=True, help="Print one screen and end; for pipes.")
@click.option("--wait", "wait_s", type=click.FloatRange(0), default=3.0, help="With --once: seconds to watch first.")
def command(target: str, *, every_s: float, span_s: float, host: str | None, once: bool, wait_s: float) -> int:
    """Show what TARGET does, each second, or replay RUN (a folder, a name, `last`); a run that goes on is followed.

    Only reads. Keys: space pauses, arrows scroll, + and - zoom, end follows again, q ends.
    """
    run = _run_of(target)
    if not once and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("dyno watch needs a terminal.", todo="use --once for one screen, or dyno record")
    with contextlib.ExitStack() as stack:
        source: Source
        if run is not None:
            from dbdyno.view.source import RunSource

            replayed = RunSource(run)
            source, live = replayed, not replayed.finished
        else:
            source, live = _live(target, host, every_s, stack), True
        stack.callback(source.close)
        if once:
            _print_once(source, span_s=span_s, wait_s=wait_s if run is None else 0.0, live=live)
        else:
            from dbdyno.view.app import WatchApp

            WatchApp(source, live=live, span_s=span_s).run()
    return EXIT_OK


def _run_of(text: str) -> Path | None:
    """The run that the words mean; None when they name a server."""
    if "://" in text or text.startswith("sandbox:") or text.endswith(".toml"):
        return None
    try:
        return find_run(home(), text)
    except RecordError:
        if Path(text).is_file():
            return None
        raise


def _live(target: str, host: str | None, every_s: float, stack: contextlib.ExitStack) -> Source:
    from dbdyno.view.source import LiveSource

    clock = SystemClock()
    served = stack.enter_context(find_target(target, make=False).observing())
    machine = stack.enter_context(machine_of(host, served, clock))
    box = served.sandbox

    def watch() -> Watch:
        pids = tuple(box.server_pids()) if box else ()
        processes = {"dyno": (os.getpid(),)} | ({"server": pids} if pids else {})
        device = box.device() if box else None
        return Watch(processes, (device,) if device else ())

    return LiveSource(
        served.target, served.secret, served.engine, clock=clock, watch=watch, every_s=every_s, machine=machine
    )


def _print_once(source: Source, *, span_s: float, wait_s: float, live: bool) -> None:
    from rich.console import Console

    from dbdyno.view.frame import Look, Scene, frame

    SystemClock().sleep(wait_s)
    source.refresh()
    out = Console(highlight=False)
    scene = Scene(source.title, source.store(), source.intervals(), source.doubts())
    look = Look(end_s=source.now_s(), span_s=span_s if live else max(source.now_s(), 10.0), live=live)
    out.print(frame(scene, look, out.width, max(out.height - 1, 20) if out.is_terminal else 24))
