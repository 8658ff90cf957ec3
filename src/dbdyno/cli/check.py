"""`dyno check`: audits servers and the machines under them; reads only."""

from __future__ import annotations

import importlib
import os
import secrets
import shutil
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import click

from dbdyno.check.audit import TIMEOUT_S, Options, audit, audit_dump, audit_host
from dbdyno.check.host import find_host
from dbdyno.check.machine import generate_for
from dbdyno.check.result import Checked, Problem
from dbdyno.check.select import baseline_of, baseline_text, read_baseline
from dbdyno.cli.common import SystemClock, find_target
from dbdyno.model.contract import Contract
from dbdyno.model.errors import EXIT_ERROR, EXIT_OK, EXIT_WORSE, DynoError, UsageError
from dbdyno.model.finding import Severity, Verdict
from dbdyno.model.home import find_config
from dbdyno.model.knob import Level
from dbdyno.model.record import to_json

MANY_AT_ONCE = 32
TARGETS_MAX = 10_000
WIDTH_MAX = 120
_SIZES = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


class Words(click.ParamType[tuple[str, ...]]):
    """`--only A,B --only C` and `--only A --only B,C` mean the same."""

    name = "LIST"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return tuple(word.strip() for word in value.split(",") if word.strip())


class Size(click.ParamType[int]):
    """`16GB`, `16G`, `16384MB`: binary units, as servers take them."""

    name = "SIZE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, int):
            return value
        text = str(value).upper().removesuffix("IB").removesuffix("B")
        factor = _SIZES.get(text[-1:], 1)
        digits = text[:-1] if text[-1:] in _SIZES else text
        if not digits.isdigit() or int(digits) * factor < 1 << 20:
            self.fail(f"{value!r} is no size of at least 1MB, such as 16GB", param, ctx)
        return int(digits) * factor


OF_TARGET = ""
"""What `--generate` without a product means."""
WORKLOADS = ("oltp", "web", "read-mostly", "dw", "bulk", "mixed", "desktop", "cache")
_SIZED = ("memory_bytes", "cores", "disk", "iops", "connections", "workload")
_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.argument("target", required=False),
    click.option("--host", help="The machine: local, ssh://user@host, a folder with its /proc and /sys, or unknown."),
    click.option("--targets", type=click.Path(path_type=Path), metavar="FILE", help="Many: one TARGET [HOST] a line."),
    click.option("--from", "dump", type=click.Path(path_type=Path), help="A saved dump: a file, folder or archive."),
    click.option("--contract", type=click.Choice([one.name for one in reversed(Level)], case_sensitive=False),
                 help="Hold the settings against this durability level, log archiving and replication included."),
    click.option("--recovery-time", "recovery_s", type=click.FloatRange(1), default=120.0, show_default=True,
                 help="Seconds that recovery after a crash may take."),
    click.option("--no-pitr", is_flag=True, help="The contract does without point-in-time recovery."),
    click.option("--no-replication", is_flag=True, help="The contract does without replication."),
    click.option("--seconds", type=click.FloatRange(0, 600), default=0.0, show_default=True,
                 help="Between two samples, for rules about rates; 0: one sample."),
    click.option("--timeout", "timeout_s", type=click.FloatRange(0.5, 600), default=TIMEOUT_S, show_default=True,
                 help="Seconds for the server, and for the machine."),
    click.option("--only", type=Words(), multiple=True, help="Ids (with * and ?) or topics."),
    click.option("--skip", type=Words(), multiple=True, help="Ids (with * and ?) or topics."),
    click.option("--severity", type=click.Choice([str(one) for one in Severity]), default="advice", show_default=True,
                 help="The mildest that counts."),
    click.option("--baseline", type=click.Path(path_type=Path), help="Findings that are accepted."),
    click.option("--write-baseline", type=click.Path(path_type=Path), help="Accept what is found now, in this file."),
    click.option("--generate", is_flag=False, flag_value=OF_TARGET, metavar="[PRODUCT[:VERSION]]",
                 help="Print a whole starting configuration with reasons: for TARGET, or without one for a product as "
                 "the URLs name it (example mariadb:10.11) on the machine that the next options describe."),
    click.option("--memory", "--ram", "memory_bytes", type=Size(), help="For --generate: instead of what is seen."),
    click.option("--cores", type=click.IntRange(1), help="For --generate."),
    click.option("--disk", type=click.Choice(["hdd", "ssd", "nvme", "cloud"]), help="For --generate."),
    click.option("--iops", type=click.FloatRange(1), help="For --generate: operations a second that the disk does."),
    click.option("--connections", type=click.IntRange(1), help="For --generate."),
    click.option("--workload", type=click.Choice(WORKLOADS), help="For --generate."),
    click.option("--fix", "fix_folder", type=click.Path(path_type=Path), help="Write ready files that mend, here."),
    click.option("--output", "form", type=click.Choice(["text", "json", "html", "sarif"]), default="text",
                 show_default=True, help="To standard output, or to -o."),
    click.option("-o", "out", type=click.Path(path_type=Path), help="Write the output to this file."),
    click.option("--color", "colour", type=click.Choice(["auto", "always", "never"]), default="auto",
                 show_default=True, help="Of the marks; NO_COLOR is honoured."),
    click.option("-v", "--verbose", is_flag=True, help="Name each rule that passes."),
)  # fmt: skip


def _options(function: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


@click.command("check", short_help="Audit a server and its machine; reads only.")
@_options
@click.pass_context
def command(context: click.Context, /, **given: Any) -> None:
    """Audit the server TARGET and the Linux host under it. Nothing is changed; no privileges are needed, and what
    cannot be seen for lack of them is said.

    \b
    dyno check postgresql://me@db1/shop --host ssh://me@db1 --contract L3
    dyno check --host local
    dyno check --from customer-dump.tar.gz --output html -o audit.html

    Marks: [!!] a finding, [??] cannot be seen, [OK] well. Exit status: 0 nothing found; 1 findings (with --contract
    also when a part of the contract cannot be seen); 2 an error, or a server or machine that could not be read.
    """
    if given["generate"] and "://" in given["generate"] and given["target"] is None:
        # `--generate TARGET`: the option has taken what was meant as the argument.
        given.update(target=given["generate"], generate=OF_TARGET)
    if given["generate"]:
        _say_generated(given)
        return
    options = _audit_options(given)
    many = given["targets"] is not None
    audits = _many(given["targets"], given["host"], options) if many else [_one(given, options)]
    if given["write_baseline"] is not None:
        found = [finding for one in audits for finding in one.findings]
        given["write_baseline"].write_bytes(baseline_text(baseline_of(found)))
    if given["fix_folder"] is not None:
        _write_fixes(given["fix_folder"], audits)
    _say(audits, given, many)
    context.exit(status_of(audits))


def status_of(audits: Sequence[Checked]) -> int:
    """2 when a source could not be read at all, 1 with findings (or an unseen part of the contract), else 0."""
    if any(problem.fatal for one in audits for problem in one.problems):
        return EXIT_ERROR
    found = any(
        finding.verdict is Verdict.FAIL or (finding.verdict is Verdict.UNKNOWN and finding.rule == "CONTRACT")
        for one in audits
        for finding in one.findings
    )
    return EXIT_WORSE if found else EXIT_OK


def _audit_options(given: dict[str, Any]) -> Options:
    named = sum(given[name] is not None for name in ("target", "targets", "dump"))
    if named > 1 or (named == 0 and given["host"] is None):
        raise UsageError(
            "Name one thing to audit." if named else "Nothing to audit was named.",
            todo="give TARGET, or --targets FILE, or --from DUMP, or only --host for a machine without a server",
        )
    return Options(
        clock=SystemClock(),
        config=find_config(os.environ),
        token="T" + secrets.token_hex(16),
        seconds=given["seconds"],
        timeout_s=given["timeout_s"],
        contract=Contract(
            level=Level[(given["contract"] or "L3").upper()],
            recovery_s_max=given["recovery_s"],
            pitr=not given["no_pitr"],
            replication=not given["no_replication"],
        ),
        judge_contract=given["contract"] is not None,
        only=[word for words in given["only"] for word in words],
        skip=[word for words in given["skip"] for word in words],
        severity=Severity(given["severity"]),
        baseline=read_baseline(given["baseline"]) if given["baseline"] else None,
        generate=given["generate"] is not None,
        sizes={name: given[name] for name in _SIZED},
    )


def _one(given: dict[str, Any], options: Options) -> Checked:
    if given["dump"] is not None:
        return audit_dump(given["dump"], options)
    if given["target"] is None:
        return audit_host(find_host(given["host"], None), options)
    return _target(given["target"], given["host"], options)


def _target(text: str, host: str | None, options: Options) -> Checked:
    with find_target(text, make=False).serving() as served:
        return audit(served.target, served.secret, served.kind, find_host(host, served.target), options)


def _many(path: Path, host: str | None, options: Options) -> list[Checked]:
    """All targets of the file at once, in its order; one that fails does not stop the others."""
    rows = targets_of(_text_of(path), str(path))

    def one(row: tuple[str, str | None]) -> Checked:
        text, own_host = row
        try:
            return _target(text, own_host or host, options)
        except DynoError as error:
            problem = Problem(source="target", what=error.what, found=error.found, todo=error.todo, fatal=True)
            return Checked(target=text, problems=(problem,))

    with ThreadPoolExecutor(MANY_AT_ONCE) as pool:
        return list(pool.map(one, rows))


def targets_of(text: str, path: str) -> list[tuple[str, str | None]]:
    """`TARGET [HOST]` lines; `#` begins a comment. Raises `UsageError`."""
    rows: list[tuple[str, str | None]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.partition(" #")[0].split() if not line.lstrip().startswith("#") else []
        if len(words) > 2:
            raise UsageError(f"{path}, line {number}, is not `TARGET [HOST]`.", found=f"{len(words)} words")
        if words:
            rows.append((words[0], words[1] if len(words) > 1 else None))
    if not rows or len(rows) > TARGETS_MAX:
        raise UsageError(f"{path} names {len(rows)} targets.", todo=f"one a line, 1 to {TARGETS_MAX}")
    return rows


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"The file of targets {path} cannot be read.", found=str(error)) from None


def _write_fixes(folder: Path, audits: Sequence[Checked]) -> None:
    if len(audits) != 1:
        raise UsageError("--fix writes the files of one target.", todo="name one TARGET")
    importlib.import_module("dbdyno.check.fixes").write(folder, audits[0])


def _say_generated(given: dict[str, Any]) -> None:
    """A configuration for a server that need not exist."""
    if any(given[name] is not None for name in ("target", "targets", "dump")):
        raise UsageError(
            f"--generate {given['generate']} is made without a server.",
            todo="leave TARGET out, or give --generate alone for the server that it names",
        )
    if given["form"] not in ("text", "json"):
        raise UsageError(f"A configuration is not written as {given['form']}.", todo="--output text, or json")
    made = generate_for(given["generate"], {name: given[name] for name in _SIZED})
    text = made.text if given["form"] == "text" else to_json(made).decode() + "\n"
    if given["out"] is None:
        sys.stdout.write(text)
    else:
        from dbdyno.report.files import write_page

        click.echo(str(write_page(given["out"], text)))


def _say(audits: Sequence[Checked], given: dict[str, Any], many: bool) -> None:
    from dbdyno.report.audit import audit_html, audit_sarif, audit_text, table_text
    from dbdyno.report.safe import safe_json

    form, out = given["form"], given["out"]
    if form == "json":
        text = safe_json(to_json(list(audits) if many else audits[0]).decode()) + "\n"
    elif form == "sarif":
        text = safe_json(to_json(audit_sarif(audits)).decode()) + "\n"
    elif form == "html":
        text = audit_html(audits)
    else:
        colour = out is None and _colour(given["colour"])
        width = _width() if out is None else None
        text = "\n".join(audit_text(one, colour=colour, verbose=given["verbose"], width=width) for one in audits)
        text += "\n" + table_text(audits) if many else ""
    if out is None:
        sys.stdout.write(text)
    else:
        from dbdyno.report.files import write_page

        click.echo(str(write_page(out, text)))


def _width() -> int | None:
    """Columns of the terminal, for prose no more than can be read; none where another program reads."""
    return min(shutil.get_terminal_size().columns, WIDTH_MAX) if sys.stdout.isatty() else None


def _colour(wish: str) -> bool:
    if wish == "auto":
        return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return wish == "always"
