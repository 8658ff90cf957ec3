"""Default, published formulas, random search and our tuner, side by side in one interleaved session.

For each cell (workload, size, disk): a private server is loaded once; our sampler and random search get the same number
of trials from the same baselines; then all arms run in turn and back (D F P R O, O R P F D, …) on a fresh server and
dataset each, closed loop and then open loop at 70 % of the default's throughput. Deferred writes are charged as in
every trial of `dyno tune`. Where an arm follows itself at the turn of a round, the two runs are an A/A pair: the
machine's noise.

    python benchmarks/tuning.py --cells tpcc-cached-volume --trials 12 --rounds 4 --out results.json

Needs root for the volumes, and an otherwise idle machine.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import os
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dbdyno.cli.common import SystemClock
from dbdyno.model.contract import Contract
from dbdyno.model.home import Home
from dbdyno.model.knob import Advice
from dbdyno.model.plan import WorkloadSpec
from dbdyno.model.trial import StudyPlan, Trial, TrialKind, TrialStatus
from dbdyno.sandbox.targets import resolve
from dbdyno.stats.paired import compare
from dbdyno.tune import confirm, search
from dbdyno.tune.setup import make_study, prepare_sandbox, sandbox_ground
from dbdyno.tune.store import StudyRecord, StudyStore
from dbdyno.tune.study import Study
from dbdyno.tune.trial import Step, run_trial

CLOCK = SystemClock()


@dataclass(frozen=True)
class Cell:
    """One dataset on one kind of disk."""

    name: str
    sandbox: str
    workload: WorkloadSpec
    peers: tuple[Advice, ...] = ()
    """Configurations that other tools advise for this very cell."""


# MySQLTuner 1.9.9 (Debian) on MariaDB 10.11 with these tables loaded: it dies of a division by zero in its section on
# InnoDB, before its list of variables to adjust. What its lines ask for until then: a buffer pool as large as the data,
# a redo log of a quarter of it, performance_schema on (no knob: left out). Nothing of it breaks the contract.
MYSQLTUNER = Advice(
    name="mysqltuner",
    title="MySQLTuner 1.9.9",
    assignment={"innodb_buffer_pool_size": 512 << 20, "innodb_log_file_size": 128 << 20},
    reasons={},
    source="MySQLTuner 1.9.9, Debian 12",
)
TPCC_SMALL = WorkloadSpec(name="tpcc", scale=4)
TPCC_LARGE = WorkloadSpec(name="tpcc", scale=12)
WRITE_ONLY = WorkloadSpec(name="oltp_write_only", options={"tables": "4", "table_size": "400000"})
VOLUME = "disk=xfs&iops=3000&size=16G"
# The larger-than-cache size: the server's memory is limited to less than half of the dataset.
CELLS = [
    Cell("tpcc-cached-volume", f"sandbox:postgresql?{VOLUME}", TPCC_SMALL),
    Cell("tpcc-large-volume", f"sandbox:postgresql?{VOLUME}&memory=512M", TPCC_LARGE),
    Cell("write_only-volume", f"sandbox:postgresql?{VOLUME}", WRITE_ONLY),
    Cell("tpcc-cached-plain", "sandbox:postgresql?disk=plain", TPCC_SMALL),
    Cell("tpcc-large-plain", "sandbox:postgresql?disk=plain&memory=512M", TPCC_LARGE),
    Cell("write_only-plain", "sandbox:postgresql?disk=plain", WRITE_ONLY),
    Cell("write_only-mariadb-volume", f"sandbox:mariadb?{VOLUME}", WRITE_ONLY, (MYSQLTUNER,)),
    Cell("tpcc-mariadb-volume", f"sandbox:mariadb?{VOLUME}", TPCC_SMALL, (MYSQLTUNER,)),
    Cell("write_only-myrocks-volume", f"sandbox:mariadb?engine=rocksdb&{VOLUME}", WRITE_ONLY),
]


def main() -> int:
    arguments = parse()
    home = Home(Path(arguments.home).absolute())
    results = Path(arguments.out)
    found: dict[str, Any] = json.loads(results.read_text()) if results.exists() else {}
    for cell in CELLS:
        if arguments.cells and cell.name not in arguments.cells:
            continue
        say(f"== {cell.name}")
        found[cell.name] = measure(cell, home, arguments)
        results.write_text(json.dumps(found, indent=1) + "\n")
    print(table(found))
    return 0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--cells", nargs="*", choices=[cell.name for cell in CELLS], help="default: all")
    parser.add_argument("--trials", type=int, default=12, help="for each search, baselines included")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--time", type=float, default=20.0, help="measured seconds of a run")
    parser.add_argument("--warmup", type=float, default=5.0)
    parser.add_argument("--rate-time", type=float, default=15.0)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--home", default=os.environ.get("DYNO_HOME", "bench-home"))
    parser.add_argument("--out", default="tuning.json")
    return parser.parse_args()


def measure(cell: Cell, home: Home, arguments: argparse.Namespace) -> dict[str, Any]:
    """Both searches and the interleaved rounds of one cell."""
    text = f"{cell.sandbox}&name={cell.name.replace('_', '-')}"
    sandbox = resolve(text, home=home, allow=(), environment=os.environ, clock=CLOCK).sandbox
    assert sandbox is not None
    with sandbox.held():
        prepare_sandbox(sandbox, cell.workload, threads=4, seed=arguments.seed)
        ours = study_of(cell, home, sandbox, arguments, "auto")
        run_search(ours)
        baselines = [trial for trial in ours.trials if trial.kind is TrialKind.BASELINE or is_repeated_baseline(trial)]
        random = study_of(cell, home, sandbox, arguments, "random", known=baselines)
        run_search(random)
        arms = arms_of(ours, random)
        trials = run_rounds(ours, arms, arguments)
    summary = summarise(cell, ours, arms, trials, arguments)
    # A dataset of gigabytes for each cell is too much to keep.
    sandbox.remove()
    return summary


def is_repeated_baseline(trial: Trial) -> bool:
    return trial.kind is TrialKind.REPEAT and search.baseline_name(trial) != ""


def study_of(
    cell: Cell, home: Home, sandbox: Any, arguments: argparse.Namespace, sampler: str, *, known: Sequence[Trial] = ()
) -> Study:
    plan = StudyPlan(
        name=f"{cell.name}-{sampler}",
        target=sandbox.target,
        workload=cell.workload,
        contract=Contract(),
        threads=arguments.threads,
        seed=arguments.seed,
        trials_max=arguments.trials,
        warmup_s=arguments.warmup,
        measure_s=arguments.time,
        rate_s=arguments.rate_time,
        confirm_pairs=arguments.rounds,
        sampler=sampler,
        # What random search is held against must not know what explains a run.
        guide=sampler != "random",
        ablate=False,
    )
    store = StudyStore(home.studies / plan.name)
    store.create(plan)
    record = StudyRecord(store.path, plan, list(known), None) if known else None
    ground = sandbox_ground(sandbox, plan, record, CLOCK)
    study = make_study(ground, plan, store, record, CLOCK)
    study.advice = [*study.advice, *cell.peers]
    for trial in known:
        store.append(trial)
    study.on_trial = lambda trial, _trials: say(line(trial))
    return study


def run_search(study: Study) -> None:
    while (step := study.search_step()) is not None:
        take(study, step)


def take(study: Study, step: Step) -> Trial:
    trial = run_trial(study.bench, len(study.trials) + 1, step, study.trials)
    study.trials.append(trial)
    study.bench.store.append(trial)
    say(line(trial))
    return trial


def arms_of(ours: Study, random: Study) -> list[confirm.Arm]:
    arms = [confirm.Arm(name, dict(assignment)) for name, assignment in ours.baselines.assignments.items()]
    for name, study in (("random", random), ("ours", ours)):
        winner = search.winner(study.trials)
        assert winner is not None, f"{study.bench.plan.name}: no trial succeeded"
        arms.append(confirm.Arm(name, winner.assignment))
    return arms


def run_rounds(study: Study, arms: list[confirm.Arm], arguments: argparse.Namespace) -> list[Trial]:
    rate = confirm.fixed_rate(study.trials, study.bench.plan.rate_fraction)
    trials: list[Trial] = []
    for turn in confirm.rounds(arms, arguments.rounds):
        for arm in turn:
            step = Step(TrialKind.CONFIRM, arm.name, arm.assignment, rate_per_s=rate)
            trial = take(study, step)
            if trial.status in (TrialStatus.DOUBTED, TrialStatus.FAILED):
                trial = take(study, dataclasses.replace(step, second=True))
            trials.append(trial)
    return trials


def summarise(
    cell: Cell, study: Study, arms: list[confirm.Arm], trials: list[Trial], arguments: argparse.Namespace
) -> dict[str, Any]:
    rows = {arm.name: row(arm, arms[0], trials, arguments.seed) for arm in arms}
    return {
        "rows": rows,
        "noise": confirm.noise(trials, arms, arguments.rounds),
        "rate_per_s": confirm.fixed_rate(study.trials, study.bench.plan.rate_fraction),
        "machine": {"memory_bytes": study.machine.memory_bytes, "dataset_bytes": study.machine.dataset_bytes},
        "trials": arguments.trials,
        "rounds": arguments.rounds,
        "seconds": arguments.time,
        "measured_unix_s": CLOCK.unix(),
        "workload": {"name": cell.workload.name, "scale": cell.workload.scale, "options": cell.workload.options},
    }


def row(arm: confirm.Arm, base: confirm.Arm, trials: list[Trial], seed: int) -> dict[str, Any]:
    own = [trial for trial in trials if trial.name == arm.name]
    figures: dict[str, Any] = {"assignment": arm.assignment, "runs": len(own), "failed": 0}
    figures["failed"] = sum(trial.status is TrialStatus.FAILED for trial in own)
    for figure in ("tps", "tps_charged", "drain_s", "rate_p99_ms", "write_bytes_per_transaction"):
        values = [value for trial in own if (value := getattr(trial, figure)) is not None]
        figures[figure] = statistics.median(values) if values else None
    if arm is not base:
        others = [trial for trial in trials if trial.name == base.name]
        pairs = [(a.tps_charged, b.tps_charged) for a, b in zip(others, own, strict=True)]
        usable = [(a, b) for a, b in pairs if a and b]
        if usable:
            ratio = compare(
                [a for a, _b in usable],
                [b for _a, b in usable],
                figure="tps_charged",
                names=(base.name, arm.name),
                better="higher",
                seed=seed,
            )
            figures["ratio"] = {"ratio": ratio.ratio, "low": ratio.low, "high": ratio.high, "says": ratio.verdict}
    return figures


def table(found: dict[str, Any]) -> str:
    """The markdown table of all cells."""
    lines = [
        "| cell | arm | tps | tps, charged | ratio to default (95 %) | p99 at the rate, ms | written kB/transaction |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, cell in found.items():
        for arm, figures in cell["rows"].items():
            ratio = figures.get("ratio")
            shown = f"{ratio['ratio']:.2f} ({ratio['low']:.2f}–{ratio['high']:.2f})" if ratio else "1"
            written = figures["write_bytes_per_transaction"]
            cells = [
                name,
                arm,
                number(figures["tps"]),
                number(figures["tps_charged"]),
                shown,
                number(figures["rate_p99_ms"]),
                number(written / 1e3 if written is not None else None),
            ]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def number(value: float | None) -> str:
    """Three significant digits, or a dash."""
    if value is None:
        return "–"
    if value == 0:
        return "0"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:.{digits}f}"


def line(trial: Trial) -> str:
    charged = f"{trial.tps_charged:.0f} tps charged" if trial.tps_charged else trial.error.splitlines()[:1]
    return f"{trial.number:3} {trial.kind} {trial.name} {trial.status}: {charged}, {trial.seconds:.0f} s"


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
