"""What watching costs: the same load with and without sampling at 1 Hz, interleaved (without, with, with, without, …).

    python benchmarks/sampling.py                  # PostgreSQL and MariaDB, pairs and account: under four minutes
    python benchmarks/sampling.py --probes         # what each question costs, to see where the time goes: 20 seconds

Two answers. The account is the sharp one: processor time of the sampler's two threads and of the server's process (or
thread) that answers it, as a part of all cores; a load that keeps all cores busy loses that part. The ratio of
throughputs would show what the account misses (locks in the server), but on a noisy machine it is known to a per cent
or two at best. Ends with 1 when the account is not below half a per cent. Only on Linux, on the server's machine.
"""

from __future__ import annotations

import argparse
import functools
import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dbdyno.cli.common import SystemClock
from dbdyno.hosts.registry import Watch, host_probes
from dbdyno.model.engine import Engine, Session
from dbdyno.model.errors import DynoError
from dbdyno.model.home import Home
from dbdyno.model.plan import Phase, Plan, WorkloadSpec
from dbdyno.model.probe import Column, ColumnKind, Probe
from dbdyno.model.target import Secret, Target
from dbdyno.run.driver import load_dataset
from dbdyno.run.execute import execute
from dbdyno.sandbox.sandbox import Sandbox
from dbdyno.sandbox.targets import resolve
from dbdyno.stats.paired import compare

CLOCK = SystemClock()
WORKLOAD = WorkloadSpec(name="oltp_point_select", options={"tables": "4", "table_size": "100000"})
WARMUP_S = 2.0
LIMIT_PERCENT = 0.5
SERVERS = ("postgresql", "mariadb")
WHO = {
    "postgresql": "SELECT pg_backend_pid() AS task",
    "innodb": "SELECT tid AS task FROM information_schema.processlist WHERE id = CONNECTION_ID()",
}
"""By engine: the kernel's number of the process or thread that answers."""


@dataclass
class Noticed:
    """An engine whose sessions tell which process or thread of the server answers them."""

    engine: Engine
    tasks: list[int] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.engine, name)

    def connect(self, target: Target, secret: Secret) -> Session:
        session = self.engine.connect(target, secret)
        self.tasks.append(task_of(session, target))
        return session


@dataclass
class Reading:
    """Processor time so far, in seconds, of the sampler's threads by name and of the server's task that answers."""

    at_s: float
    threads: dict[str, float]
    answering_s: float


@dataclass
class Account:
    """What sampling took between two readings, in milliseconds of processor time a second, and before them once."""

    server_ms: float
    machine_ms: float
    answering_ms: float
    once_ms: float

    @property
    def all_ms(self) -> float:
        return self.server_ms + self.machine_ms + self.answering_ms

    @property
    def percent(self) -> float:
        """Of all cores."""
        return self.all_ms / 1e3 / (os.cpu_count() or 1) * 100


def task_of(session: Session, target: Target) -> int:
    column = Column(name="task", kind=ColumnKind.GAUGE)
    who = Probe(name="who", title="Who answers", columns=(column,), query=WHO[target.engine])
    return int(session.ask(who)[0]["task"] or 0)


def ran_s(task: int) -> float:
    """Processor time of a task so far, in seconds: the first figure of proc(5)'s schedstat, to the nanosecond."""
    try:
        return int(Path(f"/proc/{task}/schedstat").read_text().split()[0]) / 1e9
    except OSError as error:
        sys.exit(f"the server's task {task} cannot be watched ({error}): this must run on the server's machine")


def reading(task: int) -> Reading:
    lanes = {one.name: one.native_id for one in threading.enumerate() if one.name.startswith("sampler-")}
    return Reading(time.monotonic(), {name: ran_s(number) for name, number in lanes.items() if number}, ran_s(task))


def account(first: Reading, last: Reading) -> Account:
    def ms(before: float, after: float) -> float:
        return (after - before) / (last.at_s - first.at_s) * 1e3

    server, machine = (ms(first.threads[name], last.threads[name]) for name in ("sampler-server", "sampler-machine"))
    once_ms = sum(first.threads.values()) * 1e3
    return Account(server, machine, ms(first.answering_s, last.answering_s), once_ms)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--pairs", type=int, default=4)
    parser.add_argument("--time", type=float, default=8.0, help="seconds of one run")
    parser.add_argument("--probes", action="store_true", help="only what each question costs, without load")
    parser.add_argument("--home", default=os.environ.get("DYNO_HOME", "bench-home"))
    parser.add_argument("servers", nargs="*", default=list(SERVERS), help=f"some of {', '.join(SERVERS)}")
    arguments = parser.parse_args()
    percents = []
    for server in arguments.servers:
        found = resolve(
            f"sandbox:{server}?name=sampling-{server}",
            home=Home(Path(arguments.home).absolute()), allow=(), environment=os.environ, clock=CLOCK,
        )  # fmt: skip
        sandbox = found.sandbox
        assert sandbox is not None
        try:
            with sandbox.held():
                sandbox.start({})
                load_dataset(sandbox.target, sandbox.secret, WORKLOAD, threads=4, seed=1)
                print(f"\n## {server}\n")
                if arguments.probes:
                    questions(sandbox)
                else:
                    percents.append(pairs(sandbox, arguments.pairs, arguments.time))
        finally:
            sandbox.stop()
            sandbox.remove()
    return int(any(percent >= LIMIT_PERCENT for percent in percents))


def pairs(sandbox: Sandbox, count: int, time_s: float) -> float:
    """Prints both answers; returns the account's, per cent of all cores."""
    tps: dict[bool, list[float]] = {False: [], True: []}
    accounts: list[Account] = []
    with tempfile.TemporaryDirectory() as folder:
        for pair in range(count):
            for sample in (False, True) if pair % 2 == 0 else (True, False):
                run = Path(folder) / f"{pair}-{sample}"
                tps[sample].append(measure(sandbox, run, sample=sample, time_s=time_s, accounts=accounts))
                print(f"pair {pair} sampling {sample}: {tps[sample][-1]:.0f} tps", file=sys.stderr)
    print("| processor time | median | minimum | maximum |\n|---|---|---|---|")
    line("sampler: questions to the server, ms/s", [one.server_ms for one in accounts])
    line("sampler: the machine's files, ms/s", [one.machine_ms for one in accounts])
    line("server: answering, ms/s", [one.answering_ms for one in accounts])
    line("all, ms/s", [one.all_ms for one in accounts])
    line(f"all, per cent of {os.cpu_count()} cores", [one.percent for one in accounts])
    line("sampler, once: the first questions, ms", [one.once_ms for one in accounts])
    percent = statistics.median(one.percent for one in accounts)
    print(f"\n{percent:.2f} %: {'below' if percent < LIMIT_PERCENT else 'NOT below'} {LIMIT_PERCENT} %")
    medians = (statistics.median(tps[False]), statistics.median(tps[True]))
    if count > 1:
        ratio = compare(tps[False], tps[True], figure="tps", names=("without", "with"), better="higher", seed=1)
        print(f"tps, median of {count}: {medians[0]:.0f} without, {medians[1]:.0f} with sampling")
        print(f"ratio with / without {ratio.ratio:.4f} ({ratio.low:.4f} to {ratio.high:.4f}): {ratio.verdict}")
    return percent


def line(name: str, values: list[float]) -> None:
    print(f"| {name} | {statistics.median(values):.3f} | {min(values):.3f} | {max(values):.3f} |")


def measure(sandbox: Sandbox, folder: Path, *, sample: bool, time_s: float, accounts: list[Account]) -> float:
    """Throughput of one run, transactions per second."""
    plan = Plan(
        target=sandbox.target,
        workload=WORKLOAD,
        threads=8,
        phases=(Phase(name="warmup", time_s=WARMUP_S, measured=False), Phase(name="measure", time_s=time_s)),
        sample=sample,
    )
    noticed = Noticed(sandbox.engine)
    readings: list[Reading] = []

    def read(event: dict[str, Any]) -> None:
        # The first second of a run asks everything once: what that takes is told apart.
        if event["event"] == "interval" and event["t_s"] >= WARMUP_S - 0.5:
            readings.append(reading(noticed.tasks[0]))

    outcome = execute(
        plan,
        sandbox.secret,
        noticed,
        clock=CLOCK,
        folder=folder,
        server_pids=sandbox.server_pids,
        device=sandbox.device(),
        on_event=read if sample else None,
    )
    if sample:
        accounts.append(account(readings[0], readings[-1]))
    return outcome.phases[-1].tps


def questions(sandbox: Sandbox, times: int = 20) -> None:
    """Prints what each question costs in processor time, dearest first."""
    session = sandbox.engine.connect(sandbox.target, sandbox.secret)
    task = task_of(session, sandbox.target)
    watch = Watch(processes={"server": tuple(sandbox.server_pids()), "dyno": (os.getpid(),)})
    asks: list[tuple[Probe, Callable[[], object]]] = [
        (probe, functools.partial(session.ask, probe)) for probe in sandbox.engine.probes(session.version)
    ]
    asks += [(one.probe, functools.partial(one.read, Path("/"), watch)) for one in host_probes()]
    costs: list[tuple[float, Probe, float, float]] = []
    for probe, ask in asks:
        try:
            ask()
            ours_s, its_s = time.thread_time(), ran_s(task)
            for _ in range(times):
                ask()
        except (DynoError, OSError) as error:
            print(f"{probe.name}: {error}", file=sys.stderr)
            continue
        ours_us = (time.thread_time() - ours_s) / times * 1e6
        its_us = (ran_s(task) - its_s) / times * 1e6
        costs.append(((ours_us + its_us) / max(probe.every_s, 1.0), probe, ours_us, its_us))
    print("| question | every s | sampler µs | server µs | both, µs in a second |\n|---|---|---|---|---|")
    for both_us, probe, ours_us, its_us in sorted(costs, key=lambda one: -one[0]):
        print(f"| {probe.name} | {max(probe.every_s, 1.0):g} | {ours_us:.0f} | {its_us:.0f} | {both_us:.0f} |")
    ours = sum(one[2] / max(one[1].every_s, 1.0) for one in costs)
    its = sum(one[3] / max(one[1].every_s, 1.0) for one in costs)
    print(f"| all, in a second | | {ours:.0f} | {its:.0f} | {ours + its:.0f} |")
    session.close()


if __name__ == "__main__":
    sys.exit(main())
