"""The command `dyno`. Every other file in this folder that defines `command` is a verb: no list."""

from __future__ import annotations

import difflib
import importlib
import pkgutil
import re
import sys
from pathlib import Path

import click
from click.shell_completion import CompletionItem

import dbdyno
import dbdyno.cli
from dbdyno.model.errors import EXIT_ERROR, EXIT_INTERRUPTED, DynoError


class Verbs(click.Group):
    """Loads a verb's file only when it is asked for: the list of verbs is read from their files, not imported."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        names = (module.name for module in pkgutil.iter_modules(dbdyno.cli.__path__))
        return sorted(name.removesuffix("_") for name in names if name not in _NOT_VERBS and name[0] != "_")

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        for name in (cmd_name, cmd_name + "_"):
            if any(module.name == name for module in pkgutil.iter_modules(dbdyno.cli.__path__)):
                command: click.Command = importlib.import_module(f"dbdyno.cli.{name}").command
                return command
        return None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """`dyno help VERB` is `dyno VERB --help`; a word that is no verb is answered with the nearest one."""
        if ctx.resilient_parsing:  # the shell completes a word: no answer may be printed
            return super().resolve_command(ctx, args)
        if args[0] == "help":
            args = [*args[1:], "--help"]
        word, verbs = args[0], self.list_commands(ctx)
        if word not in verbs and not word.startswith("-"):
            near = difflib.get_close_matches(word, verbs, n=1, cutoff=0.5)
            hint = f"Did you mean {near[0]!r}?" if near else f"The commands are: {', '.join(verbs)}."
            ctx.fail(f"No such command {word!r}. {hint}")
        if word == "--help":
            click.echo(ctx.get_help())
            ctx.exit()
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """As the list of verbs, without importing one."""
        verbs = [name for name in self.list_commands(ctx) if name.startswith(incomplete)]
        options = click.Command.shell_complete(self, ctx, incomplete)
        return [CompletionItem(name, help=_short_help(name)) for name in verbs] + options

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = [(name, _short_help(name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


EXIT_PIPE = 141
"""As a shell counts a program that wrote into a closed pipe: 128 + SIGPIPE."""
_NOT_VERBS = {"main", "common"}
_SHORT_HELP = re.compile(r'short_help="([^"]+)"')


def _short_help(verb: str) -> str:
    """The first `short_help` in a verb's file, which is the verb's own."""
    folder = Path(dbdyno.cli.__path__[0])
    for name in (verb, verb + "_"):
        if (file := folder / f"{name}.py").is_file():
            found = _SHORT_HELP.search(file.read_text(encoding="utf-8"))
            return found[1] if found else ""
    return ""


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(dbdyno.__version__, prog_name="dyno")
def dyno() -> None:
    """A dynamometer for databases: measures, explains and tunes a server under a durability contract.

    Reading is the default. Whatever loads, changes or restarts a server needs a target that allows it.
    Exit status: 0 done; 1 a judgement went against the subject; 2 an error; 130 interrupted.
    """


def main() -> None:
    """Runs the command line; errors of the world become one message and an exit status."""
    try:
        status = dyno.main(standalone_mode=False)
    except DynoError as error:
        click.echo(f"dyno: {error}", err=True)
        sys.exit(error.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(EXIT_ERROR)
    except (click.Abort, KeyboardInterrupt):
        click.echo("dyno: interrupted", err=True)
        sys.exit(EXIT_INTERRUPTED)
    except SystemExit:
        # click ends so when the reader of our output has gone, with 1: that would read as a judgement.
        sys.exit(EXIT_PIPE)
    sys.exit(status if isinstance(status, int) else 0)
