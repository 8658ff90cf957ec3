"""`dyno sandbox`: private servers by hand."""

from __future__ import annotations

import click

from dbdyno.cli._options import settings_of
from dbdyno.cli.common import SystemClock, console, home, say_note
from dbdyno.crash import modes
from dbdyno.engines.registry import engine_named, engines
from dbdyno.model.errors import EXIT_WORSE, SandboxError, UsageError
from dbdyno.model.record import to_dict, to_json
from dbdyno.sandbox import sandbox as sandboxes
from dbdyno.sandbox.options import SCHEME, SandboxUrl, check_name, make_options, parse_url
from dbdyno.sandbox.private import START_TIMEOUT_S, Sandbox

_format = click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", help="How the answer is written."
)
_set = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="A setting of the server; replaces all that the last start had. May be repeated.",
)
_timeout = click.option(
    "--timeout", default=START_TIMEOUT_S, show_default=True, metavar="SECONDS", help="How long to wait for the server."
)


@click.group("sandbox", short_help="Private servers: create, start, stop, list, remove.")
def command() -> None:
    """Private servers: create, start, stop, list, remove.

    A sandbox is a server of your own, under your data folder or --dir, that dyno may do anything with. Its disk may
    be a volume of its own with a limit on operations, as a cloud gives it.
    """


@command.command("create")
@click.argument("name", required=False)
@click.option("--engine", help="Kind of server, when there are several.")
@click.option("--disk", help="plain (a folder), or ext4, xfs, btrfs: a volume of its own (root only).")
@click.option("--iops", help="Limit on reads and on writes per second, each; needs a volume of its own.")
@click.option("--read-iops", help="The same for reads alone.")
@click.option("--write-iops", help="The same for writes alone.")
@click.option("--size", help="Size of the volume, e.g. 20G; it takes space as it fills.")
@click.option("--memory", help="Limit on the server's memory and page cache, e.g. 2G.")
@click.option("--version", help="Version of the server, e.g. 15 or 18.4.")
@click.option("--bin", help="Folder of the server's binaries.")
@click.option("--dir", help="Folder to put it in, instead of dyno's home.")
@click.option("--port", help="TCP port on loopback; otherwise any free one.")
@click.option("--start/--no-start", default=False, help="Start it and leave it running.")
@_format
def create(name: str | None, engine: str | None, start: bool, form: str, **words: str | None) -> None:
    """Make a private server. NAME may also be a whole address: sandbox:postgresql?name=demo&disk=xfs&iops=3000"""
    given = {word: value for word, value in words.items() if value is not None}
    if name is not None and name.startswith(SCHEME):
        if given or engine:
            raise UsageError("The address says it all: give it without options.", found=", ".join(sorted(given)))
        url = parse_url(name)
    else:
        options = make_options(given)
        url = SandboxUrl(engine=engine or _only_engine(), name=check_name(name or "default"), options=options)
    made = sandboxes.create(home(), engine_named(url.engine), url.name, url.options, clock=SystemClock())
    if start:
        made.start(keep=True)
    _show(made, form)


def _only_engine() -> str:
    names = sorted(engines())
    if len(names) != 1:
        kinds = sorted({scheme for engine in engines().values() for scheme in engine.schemes})
        raise UsageError("Which kind of server?", todo="--engine with one of: " + ", ".join(kinds))
    return names[0]


@command.command("start")
@click.argument("name", default="default")
@_set
@_timeout
@_format
def start(name: str, settings: tuple[str, ...], timeout: float, form: str) -> None:
    """Start it and leave it running."""
    one = _open(name)
    if one.running():
        if settings:
            raise UsageError(f"The sandbox {name!r} runs already.", todo=f"dyno sandbox restart {name} --set …")
        console(stderr=True).print("It runs already.")
    else:
        _start(one, settings, timeout)
    _show(one, form)


def _start(one: Sandbox, settings: tuple[str, ...], timeout_s: float) -> None:
    try:
        one.start(settings_of(settings) or None, timeout_s=timeout_s, keep=True)
    except SandboxError:
        if not one.running():
            one.release()
        raise


@command.command("restart")
@click.argument("name", default="default")
@_set
@_timeout
@_format
def restart(name: str, settings: tuple[str, ...], timeout: float, form: str) -> None:
    """Stop it if it runs, start it and leave it running."""
    one = _open(name)
    one.stop()
    _start(one, settings, timeout)
    _show(one, form)


@command.command("stop")
@click.argument("name", default="default")
@click.option("--mode", type=click.Choice(["smart", "fast", "immediate"]), default="fast", show_default=True)
def stop(name: str, mode: str) -> None:
    """Stop it and put its disk away."""
    one = _open(name)
    seconds = one.release(mode)
    console(stderr=True).print(f"Stopped in {seconds:.1f} s." if seconds else "It did not run.")


@command.command("list")
@_format
def list_(form: str) -> None:
    """List all sandboxes."""
    found = sandboxes.list_sandboxes(home(), clock=SystemClock())
    if form == "json":
        click.echo(to_json(found).decode())
        return
    if not found:
        console(stderr=True).print("There is no sandbox. `dyno sandbox create` makes one.")
        return
    rows = [("name", "status", "server", "disk", "size", "address")]
    for one in found:
        server = f"{one.product} {one.version.split()[0]}" if one.version else "–"
        rows.append((one.name, one.status, server, one.disk or "–", _size(one.bytes), one.url or one.folder))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for number, row in enumerate(rows):
        cells = [
            f"{cell:>{width}}" if at == 4 else f"{cell:<{width}}"
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        # The address is what one copies: it stands last and is never folded.
        click.secho("  ".join(cells).rstrip(), bold=number == 0)
    for one in found:
        for note in one.notes:
            say_note(f"{one.name}: {note}")


@command.command("info")
@click.argument("name", default="default")
@click.option("--log", "log_lines", type=click.IntRange(1, 10_000), help="Show that many last lines of its log, too.")
@_format
def info(name: str, log_lines: int | None, form: str) -> None:
    """Show one: how to reach it, what it stands on. Exit status 1 when it does not run."""
    one = _open(name)
    _show(one, form)
    if log_lines:
        click.echo(one.log_tail(log_lines))
    if not one.running():
        raise click.exceptions.Exit(EXIT_WORSE)


@command.command("rm")
@click.argument("names", nargs=-1)
@click.option("--all", "every", is_flag=True, help="All sandboxes of this home.")
@click.option("--force", is_flag=True, help="Also one that is broken.")
def remove(names: tuple[str, ...], every: bool, force: bool) -> None:
    """Stop and remove sandboxes with all their data."""
    if bool(names) == every:
        raise UsageError("Which sandboxes?", todo="name them, or say --all")
    known = [one.name for one in sandboxes.list_sandboxes(home(), clock=SystemClock())] if every else names
    for name in known:
        _put_proofs_away(name, force=force)
        sandboxes.remove(home(), name, clock=SystemClock(), force=force)
        console(stderr=True).print(f"Removed {name}.")


def _put_proofs_away(name: str, *, force: bool) -> None:
    """Unmounts and ends what a power-loss proof that was killed left on a sandbox."""
    clock = SystemClock()
    try:
        one = sandboxes.open_sandbox(home(), None, name, clock=clock)
    except SandboxError:
        if force:
            modes.put_away((home().sandboxes / name).resolve(), clock)
        return
    if (one.folder / modes.WORK).is_dir():
        with one.held():
            modes.put_away(one.folder, clock)


def _open(name: str) -> Sandbox:
    if name.startswith(SCHEME):
        url = parse_url(name)
        return sandboxes.open_sandbox(home(), url.engine, url.name, clock=SystemClock())
    return sandboxes.open_sandbox(home(), None, name, clock=SystemClock())


def _show(one: Sandbox, form: str) -> None:
    running = one.running()
    facts = {
        "name": one.name,
        "status": "running" if running else "stopped",
        "server": f"{one.installation.scheme or one.record.engine} {one.installation.version_text}",
        "binaries": one.installation.bin,
        "folder": str(one.folder),
        "disk": sandboxes.disk_words(one.record.options),
        "memory": _size(one.record.options.memory_bytes) if one.record.options.memory_bytes else "the machine's",
        "target": f"{SCHEME}{one.installation.scheme or one.record.engine}/{one.name}",
        "url": one.url if running else "",
        "password": str(one.folder / "secret"),
        "log": str(one.log),
        "pid": str(one.server_pids()[0]) if running else "",
    }
    if form == "json":
        click.echo(to_json({**facts, "record": to_dict(one.record), "state": to_dict(one.state)}).decode())
        return
    width = max(map(len, facts))
    for name, value in facts.items():
        if value:
            click.echo(f"{name:<{width}}  {value}")
    for note in one.notes:
        say_note(note)


def _size(count: int) -> str:
    size = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"
