"""The option `--host` of the verbs that sample."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, TypeVar

import click
import msgspec

from dbdyno.cli.common import SystemClock
from dbdyno.samples.machine import Machine, sampled_machine
from dbdyno.sandbox.targets import Resolved

F = TypeVar("F", bound=Callable[..., Any])


def host_option(function: F) -> F:
    return click.option(
        "--host",
        metavar="MACHINE",
        help="The machine under the server: local, ssh://user@host:port, unknown. Default: this one when the server is "
        "reached through it, else the target file's.",
    )(function)


def machine_of(host: str | None, served: Resolved, clock: SystemClock) -> AbstractContextManager[Machine]:
    """The machine that is meant, connected to. Raises `UsageError`, `HostError`."""
    return sampled_machine(host, served.target, clock, secrets.token_hex(8))


def on_machine(served: Resolved, host: str | None) -> Resolved:
    """The same server, on the machine that was named: so it stands in the record."""
    if host is None:
        return served
    return replace(served, target=msgspec.structs.replace(served.target, machine=host))
