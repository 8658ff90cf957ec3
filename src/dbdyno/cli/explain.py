"""`dyno explain`: names the stalls of a record and their causes."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from dbdyno.cli.common import home
from dbdyno.explain.explain import Explanation, explain_run
from dbdyno.explain.saved import explain_saved
from dbdyno.model.errors import EXIT_OK, EXIT_WORSE, UsageError
from dbdyno.model.finding import Severity
from dbdyno.model.record import to_json
from dbdyno.report.explained import explanation_text
from dbdyno.run.find import find_run


@click.command("explain", short_help="Name the stalls of a record and their causes.")
@click.argument("records", metavar="RUN|FILE...", nargs=-1, required=True)
@click.option("--status", is_flag=True, help="The arguments are saved texts: engine status, vmstat, iostat -x.")
@click.option(
    "--format", "form", type=click.Choice(["text", "json", "html"]), default="text", show_default=True,
    help="html: one self-contained page with the annotated timeline, to standard output or -o.",
)  # fmt: skip
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Where to write instead of standard output.")
@click.option("--all", "everything", is_flag=True, help="Also list what could not be judged, and why.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing; the exit status tells.")
@click.pass_context
def command(  # noqa: PLR0917 - click passes by name
    context: click.Context,
    records: tuple[str, ...],
    status: bool,
    form: str,
    output: Path | None,
    everything: bool,
    quiet: bool,
) -> None:
    """Explains RUN: a folder, a name (see dyno list), its beginning, or `last`.

    With --status, explains saved texts instead: what a server says of its state (one text, or several over time), or
    `vmstat -t` and `iostat -xt` with time stamps.

    \b
    dyno explain last
    dyno explain --status status-1.txt status-2.txt

    Exit status: 0 nothing; 1 a stall, or a cause that costs or endangers, was found; 2 an error.
    """
    if status:
        explanation = explain_saved([Path(name) for name in records])
    elif len(records) == 1:
        explanation = explain_run(find_run(home(), records[0]))
    else:
        raise UsageError("One run is explained at a time.", todo="name one, or use --status for saved texts")
    if not quiet:
        _say(_rendered(explanation, form, everything=everything), output)
    context.exit(EXIT_WORSE if _bad(explanation) else EXIT_OK)


def _bad(explanation: Explanation) -> bool:
    grave = any(one.finding.severity != Severity.ADVICE for one in explanation.findings)
    return explanation.stalled or grave


def _rendered(explanation: Explanation, form: str, *, everything: bool) -> str:
    if form == "json":
        return to_json(explanation).decode() + "\n"
    if form == "html":
        from dbdyno.report.timeline import explanation_page

        return explanation_page(explanation)
    return explanation_text(explanation, everything=everything)


def _say(text: str, output: Path | None) -> None:
    if output is None or str(output) == "-":
        sys.stdout.write(text)
        return
    from dbdyno.report.files import write_page

    click.echo(str(write_page(output, text)))
