"""What recording a disk costs: the same server under `oltp_write_only` on ext4, once on a plain loop device and once on
the disk that forgets, interleaved (plain, recorded, recorded, plain, …).

    python benchmarks/powerloss.py --pairs 6 --time 20 [--engine postgresql] [--file-system ext4] [--lazyfs BINARY]

Both disks lie in the same folder and are made anew at the beginning. The plain one waits for the real disk at every
flush; the recorded one does not, because its cuts are simulated. So the ratio can lie on either side of 1, and the
processor time of the recording process is told beside it.

With `--lazyfs` a third server runs on LazyFS (Ramos et al., "When Amnesia Strikes: Understanding and Reproducing Data
Loss Bugs with Fault Injection", PVLDB 2024), the file system that loses what was not synced, over a folder of the plain
disk. It is no part of this project; built with libfuse3-dev, libspdlog-dev, libfmt-dev and libtoml11-dev.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import cast

from dbdyno.cli.common import SystemClock
from dbdyno.crash.disk import FileSystem, RecordingDisk
from dbdyno.model.errors import HostError, SandboxError
from dbdyno.model.home import Home
from dbdyno.model.plan import Phase, Plan, WorkloadSpec
from dbdyno.run.driver import load_dataset
from dbdyno.run.execute import execute
from dbdyno.sandbox.disk import Volume, mounted, run_tool
from dbdyno.sandbox.identity import server_identity
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
    parser.add_argument("--lazyfs", type=Path, help="its program; without it LazyFS is left out")
    parser.add_argument("--home", default=os.environ.get("DYNO_HOME", "bench-home"))
    arguments = parser.parse_args()
    home = Path(arguments.home).absolute()
    work = home / "powerloss"
    work.mkdir(parents=True)
    file_system = cast(FileSystem, arguments.file_system)
    plain = Volume(work / "plain.img", work / "plain", Disk(file_system))
    tps: dict[str, list[float]] = {}
    try:
        plain.make(SIZE_BYTES, lambda note: print(note, file=sys.stderr))
        with (
            RecordingDisk(work / "recorded", SIZE_BYTES, file_system, CLOCK) as disk,
            lazyfs(arguments.lazyfs, work / "lazyfs", plain.point / "behind-lazyfs") as lazy,
        ):
            points = {"plain": plain.point, "recorded": disk.point, **lazy}
            tps = {name: [] for name in points}
            measure_all(arguments, home, points, disk, tps)
        plain.detach(CLOCK)
    finally:
        plain.detach(CLOCK)
        shutil.rmtree(work, ignore_errors=True)
    print(f"| on | tps, median of {arguments.pairs} | ratio to plain | 95 % |\n|---|---|---|---|")
    for name, figures in tps.items():
        line = f"| {name} | {statistics.median(figures):.0f} |"
        if name == "plain":
            print(f"{line} | |")
            continue
        ratio = compare(tps["plain"], figures, figure="tps", names=("plain", name), better="higher", seed=1)
        print(f"{line} {ratio.ratio:.3f} | {ratio.low:.3f} to {ratio.high:.3f}: {ratio.verdict} |")
    return 0


@contextlib.contextmanager
def lazyfs(binary: Path | None, work: Path, behind: Path) -> Iterator[dict[str, Path]]:
    """LazyFS over a folder, for the length of the block; nothing when it is not to be had, which is said."""
    if binary is None or not os.access(binary, os.X_OK):
        print(f"LazyFS is left out: {binary or '--lazyfs'} names no program", file=sys.stderr)
        yield {}
        return
    # It knows no sockets: a sandbox whose path is too long for one has its socket elsewhere.
    point, fifo, config = work / "mounted".ljust(90, "-"), work / "faults.fifo", work / "lazyfs.toml"
    for folder in (point, behind):
        folder.mkdir(parents=True)
    os.mkfifo(fifo)
    config.write_text(
        f'[faults]\nfifo_path="{fifo}"\n[cache]\napply_eviction=false\n[cache.simple]\ncustom_size="1gb"\n'
        'blocks_per_page=1\n[filesystem]\nlog_all_operations=false\nlogfile=""\n',
        encoding="utf-8",
    )
    identity, _ = server_identity()
    # It makes all files its own, and servers want to own theirs.
    owner = f",uid={identity.uid},gid={identity.gid}" if identity else ""
    options = ["-o", f"allow_other{owner}", "-o", "modules=subdir", "-o", f"subdir={behind}", "-f"]
    with (work / "lazyfs.log").open("wb") as log:
        process = subprocess.Popen(
            [str(binary), str(point), "--config-path", str(config), *options], stdout=log, stderr=log
        )
    try:
        for _ in range(200):
            if mounted(point) is not None or process.poll() is not None:
                break
            CLOCK.sleep(0.05)
        if mounted(point) is None:
            raise HostError("LazyFS is not mounted.", found=(work / "lazyfs.log").read_text(errors="replace")[-800:])
        yield {"LazyFS": point}
    finally:
        if mounted(point) is not None:
            run_tool("umount", str(point))
        process.terminate()
        process.wait()


def measure_all(
    arguments: argparse.Namespace, home: Path, points: dict[str, Path], disk: RecordingDisk, tps: dict[str, list[float]]
) -> None:
    """One sandbox on each disk; only one runs at a time. Every other round goes backwards."""
    sandboxes = {name: sandbox_at(arguments.engine, home, name, point) for name, point in points.items()}
    try:
        for sandbox in sandboxes.values():
            with sandbox.held():
                sandbox.start({})
                load_dataset(sandbox.target, sandbox.secret, WORKLOAD, threads=4, seed=1)
                sandbox.stop()
        before = processor_s(disk)
        for pair in range(arguments.pairs):
            for name in list(points)[:: 1 if pair % 2 == 0 else -1]:
                sandbox = sandboxes[name]
                with sandbox.held():
                    sandbox.start({})
                    tps[name].append(measure(sandbox, home / f"run-{pair}-{name}", arguments.time))
                    sandbox.stop()
                print(f"pair {pair} {name}: {tps[name][-1]:.0f} tps", file=sys.stderr)
        used = processor_s(disk) - before
        print(f"processor time of the recording: {used:.1f} s in {arguments.pairs} runs; {disk.status()}")
    finally:
        for name, sandbox in sandboxes.items():
            try:
                sandbox.remove()
            except SandboxError as error:
                # LazyFS was seen to keep names of files that are gone. All that lies on the disks goes with them.
                print(f"{name}: {error}", file=sys.stderr)


def sandbox_at(engine: str, home: Path, name: str, point: Path) -> Sandbox:
    text = f"sandbox:{engine}?name=powerloss-{name.lower()}&dir={point}/sandbox"
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
