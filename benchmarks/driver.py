#!/usr/bin/env python3
"""What our load driver costs, beside sysbench, pgbench and go-tpc: client CPU per transaction and throughput.

Each round runs every tool once, one after the other, on the same server, the same tables and the same prepared
statements, so that noise of the machine hits all of them; ratios are formed within a round and reported as median,
minimum and maximum. CPU is user + system time of the tool's process (getrusage of the child). The floor is a bare
send/receive loop on the same kind of socket that sends the same kinds of statements, the same each time.

Needs only Python's standard library. Without --host it makes a private server (PostgreSQL, or MariaDB with --dialect
mysql) in a temporary directory and removes it afterwards. Tools that are not installed are left out and named.

    cargo build --release --bins --examples && python3 benchmarks/driver.py --rounds 5 --time 5
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import pwd
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parent.parent
PORT_PRIVATE = 55433
WORKLOADS = ("oltp_point_select", "oltp_update_index", "oltp_write_only", "oltp_read_write", "tpcb", "tpcc")
# pgbench runs the single statements as scripts on the same tables, with the same uniform choice of table and key.
GO_TPC_DATABASE = "gotpc"
PIPELINED = "dyno, pipelined BEGIN and COMMIT"
PGBENCH_SCRIPTS = {
    "oltp_point_select": "SELECT c FROM sbtest{n} WHERE id=:id;",
    "oltp_update_index": "UPDATE sbtest{n} SET k=k+1 WHERE id=:id;",
}

# What the bare loop sends for a transaction, a statement a line; {n} is the connection, so that none waits for another.
FLOOR_WRITES = f"""UPDATE sbtest1 SET k=k+1 WHERE id={{n}}
UPDATE sbtest1 SET c='{"c" * 119}' WHERE id={{n}}
DELETE FROM sbtest1 WHERE id={{n}}
INSERT INTO sbtest1 (id, k, c, pad) VALUES ({{n}}, {{n}}, '{"c" * 119}', '{"p" * 59}')
COMMIT"""
FLOOR_RANGE = "FROM sbtest1 WHERE id BETWEEN {n}00 AND {n}99"
FLOOR_READS = "SELECT c FROM sbtest1 WHERE id={n}\n" * 10 + "\n".join(
    f"SELECT {what}" for what in (f"c {FLOOR_RANGE}", f"SUM(k) {FLOOR_RANGE}", f"c {FLOOR_RANGE} ORDER BY c",
                                 f"DISTINCT c {FLOOR_RANGE} ORDER BY c")
)  # fmt: skip
FLOORS = {
    "oltp_point_select": "SELECT c FROM sbtest1 WHERE id=1",
    "oltp_write_only": f"BEGIN\n{FLOOR_WRITES}",
    "oltp_read_write": f"BEGIN\n{FLOOR_READS}\n{FLOOR_WRITES}",
}


@dataclass(frozen=True)
class Sample:
    """One run of one tool."""

    cpu_us: float
    rate_per_s: float


@dataclass
class Bench:
    """Where the server and the tools are, and how long to run."""

    host: str
    port: int
    user: str
    database: str
    dialect: str
    driver: str
    floor: str | None
    pgbench: str | None
    threads: int
    seconds: int
    tables: int
    table_size: int
    scale: int
    warehouses: int
    workers: int = 0
    pipeline: bool = False
    go_tpc_loaded: bool = False

    def child(self, command: list[str], text: str | None = None) -> tuple[float, str]:
        """CPU seconds and output of a command; a failure ends the benchmark with the tool's own words."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode != 0:
            sys.exit(f"{command[0]} failed ({done.returncode}): {done.stderr[-2000:] or done.stdout[-2000:]}")
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout

    def plan(self, verb: str, workload: str, *, pipeline: bool = False) -> str:
        options: dict[str, object] = {}
        if workload == "tpcc":
            # As go-tpc does: each transaction takes any warehouse.
            options = {"home": "random"}
        if workload.startswith("oltp"):
            options = {"tables": self.tables, "table_size": self.table_size, "rand_type": "uniform"}
        scale = {"tpcb": self.scale, "tpcc": self.warehouses}.get(workload, 1)
        return json.dumps(
            {
                "protocol": 1,
                "verb": verb,
                "target": {
                    "dialect": self.dialect,
                    "host": self.host,
                    "port": self.port,
                    "user": self.user,
                    "database": self.database,
                },
                "workload": {"name": workload, "scale": scale, "options": options},
                "threads": self.threads,
                "workers": self.workers,
                "seed": 1,
                **({"pipeline": True} if pipeline else {}),
                "phases": [{"name": "measure", "time_s": self.seconds}],
            }
        )

    def pipelined(self, workload: str) -> Sample:
        return self.ours(workload, pipeline=True)

    def ours(self, workload: str, *, pipeline: bool = False) -> Sample:
        cpu, output = self.child([self.driver], self.plan("run", workload, pipeline=pipeline))
        summary = next(event for event in map(json.loads, output.splitlines()) if event["event"] == "summary")
        count = sum(one["count"] for one in summary["transactions"].values())
        return Sample(cpu / count * 1e6, count / summary["seconds"])

    def sysbench(self, workload: str) -> Sample:
        cpu, output = self.child(
            [
                "sysbench",
                workload,
                *self.sysbench_words(),
                f"--tables={self.tables}",
                f"--table-size={self.table_size}",
                f"--threads={self.threads}",
                f"--time={self.seconds}",
                "--rand-type=uniform",
                "run",
            ]
        )
        count = int(found(r"transactions:\s+(\d+)", output))
        return Sample(cpu / count * 1e6, float(found(r"transactions:.*\(([\d.]+) per sec", output)))

    def sysbench_words(self) -> list[str]:
        if self.dialect == "mysql":
            where = f"--mysql-socket={self.host}/mysql.sock"
            return ["--db-driver=mysql", where, f"--mysql-user={self.user}", f"--mysql-db={self.database}"]
        where = [f"--pgsql-host={self.host}", f"--pgsql-port={self.port}"]
        return ["--db-driver=pgsql", *where, f"--pgsql-user={self.user}", f"--pgsql-db={self.database}"]

    def pgbench_run(self, workload: str) -> Sample:
        assert self.pgbench is not None
        command = [
            self.pgbench,
            "-h",
            self.host,
            "-p",
            str(self.port),
            "-U",
            self.user,
            "-n",
            "-M",
            "prepared",
            "-c",
            str(self.threads),
            "-T",
            str(self.seconds),
        ]
        with tempfile.TemporaryDirectory() as folder:
            if workload == "tpcb":
                command += ["-b", "tpcb-like"]
            else:
                for n in range(1, self.tables + 1):
                    script = pathlib.Path(folder, f"{n}.sql")
                    sql = PGBENCH_SCRIPTS[workload].format(n=n)
                    script.write_text(f"\\set id random(1, {self.table_size})\n{sql}\n")
                    command += ["-f", str(script)]
            cpu, output = self.child([*command, self.database])
        count = int(found(r"actually processed: (\d+)", output))
        return Sample(cpu / count * 1e6, float(found(r"tps = ([\d.]+)", output)))

    def go_tpc(self, _workload: str) -> Sample:
        if not self.go_tpc_loaded:
            createdb = tool("createdb")
            if createdb is None:
                sys.exit("go-tpc needs a database of its own: createdb is missing")
            self.child([createdb, "-h", self.host, "-p", str(self.port), "-U", self.user, GO_TPC_DATABASE])
            self.child(["go-tpc", "tpcc", "prepare", *self.go_tpc_words()])
            self.go_tpc_loaded = True
        cpu, output = self.child(["go-tpc", "tpcc", "run", *self.go_tpc_words(), "--time", f"{self.seconds}s"])
        count = sum(int(n) for n in re.findall(r"\[Summary\] \w+ - .*?Count: (\d+)", output))
        return Sample(cpu / count * 1e6, count / self.seconds)

    def go_tpc_words(self) -> list[str]:
        # It takes no directory as a host, but hands these parameters to its client library, which does.
        where = ["-H", "*", "--conn-params", f"sslmode=disable&host={self.host}", "-P", str(self.port)]
        size = ["--warehouses", str(self.warehouses), "-T", str(self.threads)]
        return ["-d", "postgres", *where, "-U", self.user, "-D", GO_TPC_DATABASE, *size]

    def floor_run(self, workload: str) -> Sample:
        assert self.floor is not None
        path = f"{self.host.rstrip('/')}/.s.PGSQL.{self.port}"
        cpu, output = self.child(
            [
                self.floor,
                path,
                self.user,
                self.database,
                FLOORS[workload],
                str(self.threads),
                str(self.seconds),
            ]
        )
        count = int(output)
        return Sample(cpu / count * 1e6, count / self.seconds)

    def tools(self, workload: str) -> dict[str, Callable[[str], Sample]]:
        """The tools that can run a workload, ours last."""
        framed = workload in ("oltp_write_only", "oltp_read_write", "tpcb", "tpcc")
        mine = {"dyno": self.ours, **({PIPELINED: self.pipelined} if self.pipeline and framed else {})}
        tools: dict[str, Callable[[str], Sample]] = {}
        if self.dialect == "mysql":
            return {"sysbench": self.sysbench, **mine} if shutil.which("sysbench") else mine
        if workload in FLOORS and self.floor and self.host.startswith("/"):
            tools["floor"] = self.floor_run
        if workload.startswith("oltp") and shutil.which("sysbench"):
            tools["sysbench"] = self.sysbench
        if (workload == "tpcb" or workload in PGBENCH_SCRIPTS) and self.pgbench:
            tools["pgbench"] = self.pgbench_run
        if workload == "tpcc" and shutil.which("go-tpc"):
            tools["go-tpc"] = self.go_tpc
        return {**tools, **mine}


def found(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    if match is None:
        sys.exit(f"no {pattern!r} in the tool's output:\n{text[-2000:]}")
    return match.group(1)


def tool(name: str) -> str | None:
    """A PostgreSQL program from PATH or Debian's directories, newest first."""
    places = sorted(pathlib.Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), reverse=True)
    return shutil.which(name) or (str(places[0]) if places else None)


@contextmanager
def private_server() -> Iterator[str]:
    """A PostgreSQL of our own: yields the directory of its socket. Drops root, as the server demands."""
    initdb, pg_ctl = tool("initdb"), tool("pg_ctl")
    initdb = initdb or next(map(str, pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb")), None)
    if initdb is None or pg_ctl is None:
        sys.exit("no PostgreSQL found (initdb, pg_ctl): install one or give --host")
    folder = tempfile.mkdtemp(prefix="dyno-bench-", dir="/tmp")
    drop: dict[str, str] = {}
    if os.geteuid() == 0:
        account = next((name for name in ("postgres", "nobody") if has_account(name)), "nobody")
        shutil.chown(folder, account)
        drop = {"user": account}
    data = f"{folder}/data"
    quiet = {"stdout": subprocess.DEVNULL, "cwd": folder, **drop}
    subprocess.run([initdb, "-D", data, "-U", "postgres", "-A", "trust"], check=True, **quiet)
    settings = f"-p {PORT_PRIVATE} -k {folder} -c listen_addresses='' -c shared_buffers=512MB -c max_wal_size=4GB"
    try:
        subprocess.run([pg_ctl, "-D", data, "-l", f"{folder}/log", "-w", "-o", settings, "start"], check=True, **quiet)
        yield folder
    finally:
        subprocess.run([pg_ctl, "-D", data, "-m", "immediate", "stop"], check=False, **quiet)
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def private_mariadb() -> Iterator[str]:
    """A MariaDB of our own: yields the directory of its socket `mysql.sock`."""
    server = shutil.which("mariadbd", path="/usr/sbin:" + os.environ.get("PATH", ""))
    install = shutil.which("mariadb-install-db")
    if server is None or install is None:
        sys.exit("no MariaDB found (mariadbd, mariadb-install-db): install one or give --host")
    folder = tempfile.mkdtemp(prefix="dyno-bench-", dir="/tmp")
    account = "mysql" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
    shutil.chown(folder, account)
    data, socket = f"{folder}/data", f"{folder}/mysql.sock"
    words = [f"--datadir={data}", f"--user={account}"]
    made = [install, "--no-defaults", *words, "--auth-root-authentication-method=normal", "--skip-test-db"]
    subprocess.run(made, check=True, stdout=subprocess.DEVNULL)
    settings = ["--skip-networking", "--innodb-buffer-pool-size=512M", "--innodb-log-file-size=1G"]
    process = subprocess.Popen([server, "--no-defaults", *words, f"--socket={socket}", *settings],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
    try:
        ask = ["mariadb", "--no-defaults", f"--socket={socket}", "-uroot", "-e", "CREATE DATABASE sbtest"]
        for _ in range(100):
            if subprocess.run(ask, check=False, capture_output=True).returncode == 0:
                break
            time.sleep(0.2)
        else:
            sys.exit("the private MariaDB does not answer")
        yield folder
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def has_account(name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True


def spread(values: list[float], digits: int) -> str:
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f}–{max(values):.{digits}f})"


def measure(bench: Bench, workload: str, rounds: int) -> None:
    """Runs the interleaved rounds of one workload and prints its lines of the table."""
    tools = bench.tools(workload)
    samples: dict[str, list[Sample]] = {name: [] for name in tools}
    for number in range(rounds):
        # Every other round backwards: a drift of the machine hits first and last alike.
        for name in list(tools) if number % 2 == 0 else reversed(list(tools)):
            samples[name].append(tools[name](workload))
    for name, mine in samples.items():
        cpu = [ours.cpu_us / its.cpu_us for ours, its in zip(samples["dyno"], mine, strict=True)]
        rate = [ours.rate_per_s / its.rate_per_s for ours, its in zip(samples["dyno"], mine, strict=True)]
        cells = [workload, name, spread([one.cpu_us for one in mine], 1), spread([one.rate_per_s for one in mine], 0)]
        cells += ["", ""] if name in ("dyno", PIPELINED) else [spread(cpu, 2), spread(rate, 2)]
        if name == PIPELINED:
            # Its own comparison: it makes fewer round trips than any of the others.
            peer = next(iter(samples))
            cpu = [its.cpu_us / other.cpu_us for its, other in zip(mine, samples[peer], strict=True)]
            rate = [its.rate_per_s / other.rate_per_s for its, other in zip(mine, samples[peer], strict=True)]
            cells[-2:] = [f"this / {peer}: {spread(cpu, 2)}", f"this / {peer}: {spread(rate, 2)}"]
        print("| " + " | ".join(cells) + " |", flush=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--host", help="directory of the socket, or host; without it a private server is made")
    parser.add_argument("--dialect", choices=("postgresql", "mysql"), default="postgresql")
    parser.add_argument("--port", type=int, default=5432)
    parser.add_argument("--user", help="default: postgres, or root")
    parser.add_argument("--database", help="the datasets are loaded here when they are not there; postgres, or sbtest")
    parser.add_argument("--driver", default=str(ROOT / "target/release/dyno-driver"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--time", type=int, default=5, help="seconds of one run")
    parser.add_argument("--threads", type=int, default=8, help="connections")
    parser.add_argument("--tables", type=int, default=4)
    parser.add_argument("--table-size", type=int, default=100_000)
    parser.add_argument("--scale", type=int, default=10, help="branches of tpcb")
    parser.add_argument("--warehouses", type=int, default=2, help="warehouses of tpcc")
    parser.add_argument("--workers", type=int, default=0, help="threads of the driver; 0: as it thinks best")
    help_pipeline = "also run ours with BEGIN and COMMIT sent together with statements, in rows of its own"
    parser.add_argument("--pipeline", action="store_true", help=help_pipeline)
    parser.add_argument("workloads", nargs="*", default=[], help=f"some of {', '.join(WORKLOADS)} (default: all)")
    options = parser.parse_args()
    mysql = options.dialect == "mysql"
    options.user = options.user or ("root" if mysql else "postgres")
    options.database = options.database or ("sbtest" if mysql else "postgres")
    return options


def run(options: argparse.Namespace, host: str, port: int) -> None:
    floor = pathlib.Path(options.driver).parent / "examples/floor"
    bench = Bench(
        host,
        port,
        options.user,
        options.database,
        options.dialect,
        options.driver,
        str(floor) if floor.exists() else None,
        tool("pgbench"),
        options.threads,
        options.time,
        options.tables,
        options.table_size,
        options.scale,
        options.warehouses,
        options.workers,
        options.pipeline,
    )
    names = options.workloads or [one for one in WORKLOADS if options.dialect != "mysql" or one.startswith("oltp")]
    for dataset in {("oltp_read_write" if name.startswith("oltp") else name): None for name in names}:
        bench.child([options.driver], bench.plan("load", dataset))
    missing = (
        []
        if options.dialect == "mysql"
        else [
            name
            for name, there in (
                ("sysbench", shutil.which("sysbench")),
                ("pgbench", bench.pgbench),
                ("go-tpc", shutil.which("go-tpc")),
                ("floor (cargo build --release --examples)", bench.floor),
            )
            if not there
        ]
    )
    if missing:
        print(f"Not here, left out: {', '.join(missing)}.\n")
    print(
        f"{options.threads} connections, {options.rounds} interleaved rounds of {options.time} s; "
        "median (minimum–maximum); ratios are dyno / tool within a round.\n"
    )
    print("| workload | tool | CPU µs/transaction | transactions/s | CPU ratio | throughput ratio |")
    print("|---|---|---|---|---|---|")
    for workload in names:
        measure(bench, workload, options.rounds)


def main() -> None:
    options = arguments()
    if not pathlib.Path(options.driver).exists():
        sys.exit(f"no driver at {options.driver}: run `cargo build --release --bins --examples` or give --driver")
    if options.host:
        run(options, options.host, options.port)
    else:
        with private_mariadb() if options.dialect == "mysql" else private_server() as folder:
            run(options, folder, PORT_PRIVATE)


if __name__ == "__main__":
    main()
