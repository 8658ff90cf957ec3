"""Compares samplers on a surrogate of measured data (see sampler_problems.py) and writes a table.

    uv run --group bench python benchmarks/sampler.py                     # all samplers, 30 seeds, 100 trials
    uv run --group bench python benchmarks/sampler.py --samplers ours,random --trials 40

Every sampler first sees the stock default. What it is told has 4 % noise; what counts is the true value of the trial
that looked best to it so far ("best measured"). `ours` also names its own choice, the best posterior mean
("recommended"). Each search is stored in --cache and not repeated, so an interrupted run goes on; delete the folder
after a change to a sampler. SMAC runs as its authors set it up (hyperparameter-optimization facade), minimising
1000/tps with the default added to its initial design.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import datetime
import importlib.metadata
import json
import math
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import sampler_problems as problems
from sampler_problems import Problem
from scipy import stats

from dbdyno.model.knob import Assignment
from dbdyno.tune import space
from dbdyno.tune.samplers import make_sampler
from dbdyno.tune.samplers.gaussian import GaussianProcessSampler

ROOT = Path(__file__).resolve().parent.parent
CHECKPOINTS = (10, 20, 40, 60, 100)
Search = dict[str, Any]
"""`observed` and `true` by trial, `recommended` by checkpoint where the sampler has an opinion, `seconds`."""


def with_optuna(make: Callable[[Problem, int], optuna.samplers.BaseSampler]) -> Callable[[Problem, int, int], Search]:
    def search(problem: Problem, seed: int, trials: int) -> Search:
        sampler = make(problem, seed)
        study = optuna.create_study(direction="maximize", sampler=sampler)
        study.enqueue_trial(space.parameters(problem.default, problem.knobs))
        found: Search = {"observed": [], "true": [], "recommended": {}, "seconds": 0.0}
        for number in range(trials):
            started = time.perf_counter()
            trial = study.ask()
            assignment = space.suggest(trial, problem.knobs)
            found["seconds"] += time.perf_counter() - started
            study.tell(trial, problem.observe(assignment, seed, number))
            found["observed"].append(study.trials[-1].value)
            found["true"].append(problem.truth(assignment))
            if number + 1 in CHECKPOINTS and isinstance(sampler, GaussianProcessSampler):
                found["recommended"][str(number + 1)] = problem.truth(sampler.recommend(study))
        return found

    return search


def smac(problem: Problem, seed: int, trials: int) -> Search:
    from smac import HyperparameterOptimizationFacade as Facade
    from smac import Scenario

    configurations = _configuration_space(problem, seed)
    log: list[tuple[Assignment, float]] = []

    def cost(config: Any, seed_of_smac: int = 0) -> float:
        assignment = space.assignment_of(dict(config), problem.knobs)
        log.append((assignment, problem.observe(assignment, seed, len(log))))
        return 1000.0 / log[-1][1]

    def target(config: Any, seed: int = 0) -> float:
        return cost(config, seed)

    with tempfile.TemporaryDirectory() as folder:
        scenario = Scenario(
            configurations, deterministic=True, n_trials=trials, seed=seed, output_directory=Path(folder)
        )
        default = configurations.get_default_configuration()
        design = Facade.get_initial_design(scenario, additional_configs=[default])
        started = time.perf_counter()
        Facade(scenario, target, initial_design=design, overwrite=True, logging_level=40).optimize()
        seconds = time.perf_counter() - started
    true = [problem.truth(assignment) for assignment, _ in log]
    return {"observed": [value for _, value in log], "true": true, "recommended": {}, "seconds": seconds}


def _configuration_space(problem: Problem, seed: int) -> Any:
    from ConfigSpace import Categorical, ConfigurationSpace, EqualsCondition, Float, Integer

    made = ConfigurationSpace(seed=seed)
    start = space.parameters(problem.default, problem.knobs)
    for knob in problem.knobs:
        if knob.choices:
            made.add(Categorical(knob.name, list(space.options(knob)), default=start[knob.name]))
            continue
        kind = Integer if knob.integer else Float
        low, high = space.bounds(knob)
        ends = (int(low), int(high)) if knob.integer else (low, high)
        number = kind(knob.name, ends, log=knob.log, default=start.get(knob.name))
        made.add(number)
        if knob.special:
            mode = space.mode_name(knob)
            made.add(Categorical(mode, list(space.options(knob)), default=start[mode]))
            made.add(EqualsCondition(number, made[mode], space.NUMERIC))
    return made


def _univariate(problem: Problem, seed: int) -> optuna.samplers.BaseSampler:
    return optuna.samplers.TPESampler(seed=seed, multivariate=False)


SAMPLERS: dict[str, tuple[str, Callable[[Problem, int, int], Search]]] = {
    "ours": ("ours (`gp`)", with_optuna(lambda p, seed: make_sampler("gp", seed=seed, knobs=p.knobs))),
    "smac": ("SMAC", smac),
    "tpe": (
        "TPE, multivariate (Optuna's default)",
        with_optuna(lambda p, seed: make_sampler("tpe", seed=seed, knobs=p.knobs)),
    ),
    "tpe1": ("TPE, univariate (Optuna's default before 5)", with_optuna(_univariate)),
    "random": ("random", with_optuna(lambda p, seed: make_sampler("random", seed=seed, knobs=p.knobs))),
}


def problem_named(name: str, data: Path) -> Problem:
    if name.startswith("measured"):
        return problems.measured(data, int(name.removeprefix("measured")))
    return {"smooth12": problems.synthetic_smooth, "server9": problems.synthetic_server}[name]()


def searches(problem: Problem, sampler: str, seeds: int, trials: int, cache: Path) -> list[Search]:
    """Cached searches of all seeds; those missing are run."""
    found = []
    for seed in range(seeds):
        file = cache / f"{problem.name}-{sampler}-{seed}-{trials}.json"
        if not file.is_file():
            result = SAMPLERS[sampler][1](problem, seed, trials)
            file.with_suffix(".part").write_text(json.dumps(result))
            file.with_suffix(".part").rename(file)
            print(f"{problem.name} {sampler} seed {seed}: {best(result, trials):.1f}", file=sys.stderr, flush=True)
        found.append(json.loads(file.read_text()))
    return found


def best(search: Search, trials: int) -> float:
    """True value of the trial that looked best among the first `trials`."""
    return float(search["true"][int(np.argmax(search["observed"][:trials]))])


def table(problem: Problem, results: dict[str, list[Search]], trials: int) -> tuple[list[str], dict[str, Any]]:
    """Lines of Markdown and the same as data. Wins and p-values are against SMAC after all its trials."""
    shown = [count for count in CHECKPOINTS if count <= trials]
    rows: dict[str, dict[int, list[float]]] = {}
    for sampler, found in results.items():
        rows[SAMPLERS[sampler][0]] = {count: [best(each, count) for each in found] for count in shown}
        if found[0]["recommended"]:
            rows[SAMPLERS[sampler][0] + ", recommended"] = {
                count: [each["recommended"][str(count)] for each in found] for count in shown
            }
    rival = rows.get(SAMPLERS["smac"][0], {}).get(trials)
    lines = [
        f"### {problem.name}: {problem.title}", "",
        f"Stock default {problem.truth(problem.default):.1f} tps. Median over seeds (quartiles).", "",
        "| sampler | " + " | ".join(f"after {count}" for count in shown) + " |",
        "|---|" + "---|" * len(shown),
    ]  # fmt: skip
    for name, by_count in rows.items():
        lines.append(f"| {name} | " + " | ".join(_quartiles(by_count[count]) for count in shown) + " |")
    data: dict[str, Any] = {"rows": {n: {str(c): v for c, v in r.items()} for n, r in rows.items()}}
    if rival:
        lines += ["", f"Against SMAC after {trials} trials, paired over {len(rival)} seeds (Wilcoxon, two-sided):", "",
                  "| sampler | trials | wins | median ratio | p |", "|---|---|---|---|---|"]  # fmt: skip
        for name, by_count in rows.items():
            for count in (40, trials):
                if count in by_count and not (name == "SMAC" and count == trials):
                    lines.append(f"| {name} | {count} | {_against(by_count[count], rival)} |")
    return [*lines, ""], data


def _quartiles(values: list[float]) -> str:
    low, middle, high = np.percentile(values, [25, 50, 75])
    return f"{middle:.1f} ({low:.1f}–{high:.1f})"


def _against(values: list[float], rival: list[float]) -> str:
    pairs = list(zip(values, rival, strict=True))
    logs = [math.log(a / b) for a, b in pairs]
    p = float(stats.wilcoxon(logs).pvalue) if any(logs) else 1.0
    return f"{sum(a > b for a, b in pairs)} of {len(pairs)} | {math.exp(float(np.median(logs))):.3f} | {p:.2g}"


def versions() -> str:
    parts = [f"Python {sys.version.split()[0]}"]
    for package in ("optuna", "numpy", "scipy", "scikit-learn", "smac"):
        try:
            parts.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            parts.append(f"{package} not installed")
    return ", ".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=ROOT / ".." / "shared" / "data" / "pku-sysbench")
    parser.add_argument("--problems", default="measured20", help="of measured20, measured5, server9, smooth12")
    parser.add_argument("--samplers", default=",".join(SAMPLERS))
    parser.add_argument("--seeds", type=int, default=30)
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "dyno-bench-sampler")
    parser.add_argument("--out", type=Path, help="folder for sampler.md and sampler.json; without it: only printed")
    options = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    options.cache.mkdir(parents=True, exist_ok=True)
    lines = ["# Samplers compared", "", f"`python {' '.join(sys.argv)}`", "",
             f"{datetime.date.today().isoformat()}; {versions()}; {options.seeds} seeds.", ""]  # fmt: skip
    everything: dict[str, Any] = {"command": sys.argv, "versions": versions()}
    for name in options.problems.split(","):
        problem = problem_named(name, options.data)
        results = {
            sampler: searches(problem, sampler, options.seeds, options.trials, options.cache)
            for sampler in options.samplers.split(",")
        }
        made, everything[name] = table(problem, results, options.trials)
        lines += made
        for sampler, found in results.items():
            cost = np.mean([each["seconds"] for each in found]) / options.trials
            lines.append(f"* {SAMPLERS[sampler][0]}: {cost * 1e3:.0f} ms a trial")
        lines.append("")
    print("\n".join(lines))
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "sampler.md").write_text("\n".join(lines))
        (options.out / "sampler.json").write_text(json.dumps(everything))


if __name__ == "__main__":
    main()
