"""Validates what is typed about a workload against what the driver says it has, with the nearest word when it errs."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dbdyno.model.errors import UsageError
from dbdyno.model.plan import WorkloadSpec

SCALE_MAX = 100_000
"""More is a slip of the finger: a hundred thousand warehouses are ten terabytes."""


def choose_workload(
    name: str,
    scale: int,
    options: Mapping[str, str],
    workloads: Sequence[Mapping[str, Any]],
    *,
    verb: Sequence[str] = (),
) -> WorkloadSpec:
    """The workload as it will be planned; `verb` holds the command's own options, one of which may have been meant.

    Raises `UsageError` for unknown words and impossible scales.
    """
    known = {str(one["name"]): one for one in workloads}
    if name not in known:
        raise UsageError(f"There is no workload {name!r}.", found=_nearest(name, known), todo=_choices(known))
    if not 1 <= scale <= SCALE_MAX:
        raise UsageError(
            f"--scale {scale} is not possible.", found=f"1 to {SCALE_MAX} is", todo="choose a scale the disk can hold"
        )
    allowed = {str(option["name"]): option for option in known[name].get("options", ())}
    for option in options:
        if option not in allowed:
            raise UsageError(
                f"The workload {name} has no option {option!r}.",
                found=_nearest(option, [*allowed, *verb]),
                todo=_choices(allowed) if allowed else "it has no options",
            )
    return WorkloadSpec(name=name, scale=scale, options=dict(options))


def parse_options(words: Sequence[str]) -> dict[str, str]:
    """`k=v` words, with `-` for `_` in names. Raises `UsageError`."""
    options: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or not name:
            raise UsageError(f"{word!r} is not an option of a workload.", todo="write NAME=VALUE")
        options[name] = value.strip()
    return options


def _nearest(word: str, known: Iterable[str]) -> str:
    spoken = {one.removeprefix("--").replace("-", "_"): one for one in known}
    close = difflib.get_close_matches(word, list(spoken), n=1)
    return f"did you mean {spoken[close[0]]}?" if close else ""


def _choices(known: Mapping[str, Any]) -> str:
    return "use one of: " + ", ".join(sorted(known))
