"""What watching costs: the same load with and without sampling at 1 Hz, interleaved (without, with, with, without, …).

    python benchmarks/sampling.py --pairs 8 --time 15

Two answers: the ratio of throughputs with its interval, and the processor time of the sampler itself as a part of one
core. On a noisy machine the second is the sharper one; the first would show what the first-hand figure misses (queries
in the server, locks).
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from pathlib import Path

from dbdyno.cli.common import SystemClock
from dbdyno.model.home import Home
from dbdyno.model.plan import Phase, Plan, WorkloadSpec
from dbdyno.run.driver import load_dataset
from dbdyno.run.execute import execute
from dbdyno.sandbox.sandbox import Sandbox
from dbdyno.sandbox.targets import resolve
from dbdyno.stats.paired import compare

CLOCK = SystemClock()
WORKLOAD = WorkloadSpec(name="oltp_point_select", options={"tables": "4", "table_size": "100000"})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--pairs", type=int, default=8)
    parser.add_argument("--time", type=float, default=15.0)
    parser.add_argument("--home", default=os.environ.get("DYNO_HOME", "bench-home"))
    arguments = parser.parse_args()
    text = "sandbox:postgresql?name=sampling"
    home = Home(Path(arguments.home).absolute())
    found = resolve(text, home=home, allow=(), environment=os.environ, clock=CLOCK)
    sandbox = found.sandbox
    assert sandbox is not None
    tps: dict[bool, list[float]] = {False: [], True: []}
    costs: list[dict[str, object]] = []
    with sandbox.held(), tempfile.TemporaryDirectory() as folder:
        sandbox.start({})
        load_dataset(sandbox.target, sandbox.secret, WORKLOAD, threads=4, seed=1)
        for pair in range(arguments.pairs):
            for sample in (False, True) if pair % 2 == 0 else (True, False):
                run = Path(folder) / f"{pair}-{sample}"
                tps[sample].append(measure(sandbox, run, sample=sample, time_s=arguments.time, costs=costs))
                print(f"pair {pair} sampling {sample}: {tps[sample][-1]:.0f} tps", file=sys.stderr)
        sandbox.stop()
    sandbox.remove()
    ratio = compare(tps[False], tps[True], figure="tps", names=("without", "with"), better="higher", seed=1)
    print("| | without | with sampling |\n|---|---|---|")
    medians = (statistics.median(tps[False]), statistics.median(tps[True]))
    print(f"| tps, median of {arguments.pairs} | {medians[0]:.0f} | {medians[1]:.0f} |")
    print(f"\nratio with / without {ratio.ratio:.4f} ({ratio.low:.4f} to {ratio.high:.4f}): {ratio.verdict}")
    print(f"the sampler's own account, last run: {costs[-1]}")
    return 0


def measure(sandbox: Sandbox, folder: Path, *, sample: bool, time_s: float, costs: list[dict[str, object]]) -> float:
    """Throughput of one run, transactions per second."""
    plan = Plan(
        target=sandbox.target,
        workload=WORKLOAD,
        threads=8,
        phases=(Phase(name="warmup", time_s=2.0, measured=False), Phase(name="measure", time_s=time_s)),
        sample=sample,
    )
    outcome = execute(
        plan,
        sandbox.secret,
        sandbox.engine,
        clock=CLOCK,
        folder=folder,
        server_pids=sandbox.server_pids(),
        device=sandbox.device(),
    )
    if sample:
        costs.append(dict(outcome.sampling))
    return outcome.phases[-1].tps


if __name__ == "__main__":
    sys.exit(main())
