"""What recording a disk costs: the same server under `oltp_write_only` on ext4, once on a plain loop device and once on
the disk that forgets, interleaved (plain, recorded, recorded, plain, …).

    python benchmarks/powerloss.py --pairs 6 --time 20 [--engine postgresql] [--file-system ext4]

Both disks lie in the same folder and are made anew at the beginning. The plain one waits for the real disk at every
flush; the recorded one does not, because its cuts are simulated. So the ratio can lie on either side of 1, and the
processor time of the recording process is told beside it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
from pathlib import Path
from typing import cast

from dbdyno.cli.common import SystemClock
from dbdyno.crash.disk import FileSystem, RecordingDisk
from dbdyno.model.home import Home
from dbdyno.model.plan import Phase, Plan, WorkloadSpec
from dbdyno.run.driver import load_dataset
from dbdyno.run.execute import execute
from dbdyno.sandbox.disk import Volume
from dbdyno.sandbox.options import Disk
from dbdyno.sandbox.sandbox import Sandbox
from dbdyno.sandbox.targets import resolve
from dbdyno.stats.paired import compare

CLOCK = SystemClock()
SIZE_BYTES = 8 << 30
WORKLOAD = WorkloadSpec(name="oltp_write_only", options={"tables": "4", "table_size": "100000"})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--pairs", type=int, default=6)
    parser.add_argument("--time", type=float, default=20.0)
    parser.add_argument("--engine", default="postgresql")
    parser.add_argument("--file-system", default="ext4", choices=("ext4", "xfs", "btrfs"))
    parser.add_argument("--home", default=os.environ.get("DYNO_HOME", "bench-home"))
    arguments = parser.parse_args()
    home = Path(arguments.home).absolute()
    work = home / "powerloss"
    work.mkdir(parents=True)
    file_system = cast(FileSystem, arguments.file_system)
    plain = Volume(work / "plain.img", work / "plain", Disk(file_system))
    tps: dict[str, list[float]] = {"plain": [], "recorded": []}
    try:
        plain.make(SIZE_BYTES, lambda note: print(note, file=sys.stderr))
        with RecordingDisk(work / "recorded", SIZE_BYTES, file_system, CLOCK) as disk:
            points = {"plain": plain.point, "recorded": disk.point}
            measure_all(arguments, home, points, disk, tps)
        plain.detach(CLOCK)
    finally:
        plain.detach(CLOCK)
        shutil.rmtree(work, ignore_errors=True)
    ratio = compare(tps["plain"], tps["recorded"], figure="tps", names=("plain", "recorded"), better="higher", seed=1)
    print("| | plain loop device | recorded |\n|---|---|---|")
    medians = {name: statistics.median(figures) for name, figures in tps.items()}
    print(f"| tps, median of {arguments.pairs} | {medians['plain']:.0f} | {medians['recorded']:.0f} |")
    print(f"\nratio recorded / plain {ratio.ratio:.3f} ({ratio.low:.3f} to {ratio.high:.3f}): {ratio.verdict}")
    return 0


def measure_all(
    arguments: argparse.Namespace, home: Path, points: dict[str, Path], disk: RecordingDisk, tps: dict[str, list[float]]
) -> None:
    """One sandbox on each disk; one after the other runs, never both."""
    sandboxes = {name: sandbox_at(arguments.engine, home, name, point) for name, point in points.items()}
    try:
        for sandbox in sandboxes.values():
            with sandbox.held():
                sandbox.start({})
                load_dataset(sandbox.target, sandbox.secret, WORKLOAD, threads=4, seed=1)
                sandbox.stop()
        before = processor_s(disk)
        for pair in range(arguments.pairs):
            for name in ("plain", "recorded") if pair % 2 == 0 else ("recorded", "plain"):
                sandbox = sandboxes[name]
                with sandbox.held():
                    sandbox.start({})
                    tps[name].append(measure(sandbox, home / f"run-{pair}-{name}", arguments.time))
                    sandbox.stop()
                print(f"pair {pair} {name}: {tps[name][-1]:.0f} tps", file=sys.stderr)
        used = processor_s(disk) - before
        print(f"processor time of the recording: {used:.1f} s in {arguments.pairs} runs; {disk.status()}")
    finally:
        for sandbox in sandboxes.values():
            sandbox.remove()


def sandbox_at(engine: str, home: Path, name: str, point: Path) -> Sandbox:
    text = f"sandbox:{engine}?name=powerloss-{name}&dir={point}/sandbox"
    found = resolve(text, home=Home(home), allow=(), environment=os.environ, clock=CLOCK)
    assert found.sandbox is not None
    return found.sandbox


def measure(sandbox: Sandbox, folder: Path, time_s: float) -> float:
    """Throughput of one run, transactions per second."""
    plan = Plan(
        target=sandbox.target,
        workload=WORKLOAD,
        threads=8,
        phases=(Phase(name="warmup", time_s=3.0, measured=False), Phase(name="measure", time_s=time_s)),
        sample=False,
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
    shutil.rmtree(folder)
    return outcome.phases[-1].tps


def processor_s(disk: RecordingDisk) -> float:
    """User and system time of the recording process."""
    assert disk.process_id is not None
    stat = Path(f"/proc/{disk.process_id.pid}/stat").read_text(encoding="utf-8")
    fields = stat[stat.rindex(")") + 2 :].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    sys.exit(main())
