"""`dyno collect`: makes a dump of a server and its machine that `dyno check --from` reads."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

import click

from dbdyno.check.audit import TIMEOUT_S, Options, audit, audit_host
from dbdyno.check.book import engine_module, engines_with
from dbdyno.check.collect import files_of, script, write_dump
from dbdyno.check.host import HostAt, find_host
from dbdyno.check.remote import Fetch, Fetched
from dbdyno.check.result import Checked
from dbdyno.cli.common import SystemClock, find_target
from dbdyno.hosts.paths import LINKS, PATTERNS
from dbdyno.model.errors import EXIT_ERROR, EXIT_OK, UsageError
from dbdyno.model.home import find_config


@click.command("collect", short_help="Make a dump of a server and its machine for dyno check --from.")
@click.argument("target", required=False)
@click.option("--host", help="The machine: local, ssh://user@host, or a folder with its /proc and /sys.")
@click.option("-o", "out", type=click.Path(path_type=Path), help="The dump, FILE.tar.gz.")
@click.option("--script", "as_script", is_flag=True, help="Print a shell script that makes one, and do nothing else.")
@click.option(
    "--seconds", type=click.FloatRange(0, 600), default=0.0, show_default=True, help="Between two samples, for rates."
)
@click.option(
    "--timeout", "timeout_s", type=click.FloatRange(0.5, 600), default=TIMEOUT_S, show_default=True, help="A source."
)
@click.pass_context
def command(
    context: click.Context,
    /,
    target: str | None,
    *,
    host: str | None,
    out: Path | None,
    as_script: bool,
    seconds: float,
    timeout_s: float,
) -> None:
    """Collect what an audit reads of TARGET and its machine, without passwords, and write it to one file.

    \b
    dyno collect postgresql://me@db1/shop -o db1.tar.gz
    dyno collect --script > collect.sh      # then, where nothing may be installed: sh collect.sh > dump.txt
    """
    token = "T" + secrets.token_hex(16)
    if as_script:
        click.echo(script(token, _fragments()))
        return
    if out is None or (target is None and host is None):
        raise UsageError("Say what to collect, and where to.", todo="dyno collect TARGET -o FILE.tar.gz")
    options = Options(
        clock=SystemClock(), config=find_config(os.environ), token=token, seconds=seconds, timeout_s=timeout_s
    )
    if target is None:
        where = find_host(host, None)
        checked = audit_host(where, options)
    else:
        with find_target(target, make=False).serving() as served:
            where = find_host(host, served.target)
            checked = audit(served.target, served.secret, served.kind, where, options)
    write_dump(out, checked, _machine(where, checked, token, timeout_s))
    for problem in checked.problems:
        click.echo(f"NOT SEEN ({problem.source}): {problem.what} {problem.found}", err=True)
    click.echo(str(out))
    context.exit(EXIT_ERROR if any(problem.fatal for problem in checked.problems) else EXIT_OK)


def _machine(where: HostAt, checked: Checked, token: str, timeout_s: float) -> Fetched | None:
    pid = next((str(fact.value) for fact in checked.facts if fact.name == "server.pid" and not fact.unknown), "")
    if where.ssh is not None:
        return Fetch(token=token, pid=pid).over_ssh(where.ssh, timeout_s)
    if where.root is None:
        return None
    return files_of(where.root, [one.replace("{pid}", pid) for one in PATTERNS if pid or "{pid}" not in one], LINKS)


def _fragments() -> list[str]:
    """What each engine adds to the script: a file `collect.sh`, or a function of its dump reader."""
    found = []
    for engine in engines_with("engine.py"):
        if script := getattr(engine_module(engine, "dump"), "collect_script", None):
            found.append(script())
        file = Path(__file__).parent.parent / "engines" / engine / "collect.sh"
        if file.is_file():
            found.append(file.read_text(encoding="utf-8"))
    return found
