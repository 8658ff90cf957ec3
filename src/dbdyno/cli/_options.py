"""Options that several verbs have, in the same words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import click

from dbdyno.model.contract import Contract
from dbdyno.model.errors import UsageError
from dbdyno.model.knob import Assignment, Level

F = TypeVar("F", bound=Callable[..., Any])


def stacked(*options: Callable[[Any], Any]) -> Callable[[F], F]:
    """Several options as one, in the order in which the help shows them."""

    def decorate(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


seed_option = click.option(
    "--seed", type=click.IntRange(0), default=1, show_default=True, help="Drives all randomness."
)
format_option = click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
dataset_options = stacked(
    click.option("--scale", type=int, default=1, show_default=True, help="Size of the dataset."),
    click.option(
        "--option",
        "-k",
        "options",
        multiple=True,
        metavar="NAME=VALUE",
        help="Option of the workload; may be repeated.",
    ),
    click.option("--threads", type=click.IntRange(1), default=8, show_default=True, help="Connections that load it."),
)


def measured_options(one: str) -> Callable[[F], F]:
    """How long `one` (a trial, a run) measures, and what goes before it."""
    return stacked(
        click.option(
            "--time",
            "time_s",
            type=click.FloatRange(1),
            default=30.0,
            show_default=True,
            help=f"Measured seconds of {one}.",
        ),
        click.option(
            "--warmup-time",
            "warmup_s",
            type=click.FloatRange(0),
            default=5.0,
            show_default=True,
            help="Seconds of load before it is measured.",
        ),
    )


def contract_options(level_help: str) -> Callable[[F], F]:
    """What a configuration has to promise; `contract_of` makes the contract of them."""
    return stacked(
        click.option(
            "--contract",
            "level",
            type=click.Choice([level.name for level in Level][::-1]),
            default="L3",
            show_default=True,
            help=level_help,
        ),
        click.option("--pitr/--no-pitr", default=True, help="Point-in-time recovery (log archiving) stays on."),
        click.option("--replication/--no-replication", default=True, help="The log stays usable by a replica."),
        click.option("--maintenance/--no-maintenance", default=True, help="Vacuum, purge and their like stay on."),
    )


def contract_of(flags: Mapping[str, Any], **more: Any) -> Contract:
    """`more` are fields of the contract beside those of `contract_options`."""
    return Contract(
        level=Level[flags["level"]],
        pitr=flags["pitr"],
        replication=flags["replication"],
        maintenance=flags["maintenance"],
        **more,
    )


def settings_of(words: Iterable[str]) -> Assignment:
    """What `--set NAME=VALUE` gave, as often as it was given. Raises `UsageError`."""
    assignment: Assignment = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name.strip():
            raise UsageError("This is not a setting.", found=repr(word), todo="write --set name=value")
        assignment[name.strip()] = value.strip()
    return assignment
