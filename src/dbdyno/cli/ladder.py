"""`dyno ladder`: tries changes one at a time and keeps what is shown to be faster."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import msgspec

from dbdyno.cli._experiment import experiment_options, finish, make_plan, open_store, resolve_target, started
from dbdyno.cli.common import console
from dbdyno.model.errors import EXIT_OK, UsageError
from dbdyno.model.record import to_json
from dbdyno.report.experiment import experiment_text, view_experiment
from dbdyno.tune.ladder import LadderRun, parse_ladder, steps


@click.command(name="ladder", short_help="Try changes one at a time, keep what is faster.")
@click.argument("target")
@click.argument("workload")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--pairs", type=click.IntRange(1, 50), default=3, show_default=True, help="Interleaved pairs a rung.")
@experiment_options
def command(target: str, workload: str, file: Path, *, pairs: int, **flags: Any) -> int:
    """Try the changes of FILE on TARGET under WORKLOAD, one at a time, each on top of those that were kept.

    Each change is measured against what stood before it in interleaved pairs and kept only if it is shown to be
    faster. FILE is TOML:

    \b
      title = "Write tuning"
      [base]
      set = { shared_buffers = "512MB" }      # where the ladder stands
      [[rung]]
      name = "larger log"
      set = { max_wal_size = "4GB" }          # settings of the server
      [[rung]]
      name = "more partitions"
      options = { partitions = 8 }            # options of the workload: another dataset

    \b
    Example:
      dyno ladder 'sandbox:postgresql?disk=xfs&iops=3000' tpcc examples/ladder.toml --scale 4
    """
    try:
        ladder = parse_ladder(file.read_text(encoding="utf-8"), str(file))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"The ladder {file} cannot be read.", found=str(error)) from None
    ladder = msgspec.structs.replace(ladder, watch=tuple(dict.fromkeys((*ladder.watch, *flags["watch"]))))
    resolved = resolve_target(target, flags)
    plan = make_plan(resolved, "ladder", workload, flags)
    store, record, ladder = open_store(plan, ladder, resume=flags["resume"])
    plan = record.plan if record else plan
    words = console(stderr=True)
    words.print(
        f"ladder    {ladder.title or file}: {len(ladder.rungs)} rungs, about {steps(ladder, pairs)} runs\n"
        f"folder    {store.path}",
        markup=False,
    )
    with started(resolved, plan, store, record, ladder.watch, keep=flags["keep"]) as one:
        outcome = LadderRun(one.experiment, ladder, pairs, plan.seed).run()
    if flags["form"] == "json":
        click.echo(to_json({"folder": str(store.path), "outcome": outcome}).decode())
    else:
        click.echo(experiment_text(view_experiment(store.path)))
    finish(store)
    return EXIT_OK
