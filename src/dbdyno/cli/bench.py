"""`dyno bench`: prepares a dataset, loads a server, records what happens. Options are called as in sysbench."""

from __future__ import annotations

import contextlib
import datetime
import difflib
import secrets
import signal
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from dbdyno.cli._host import host_option, machine_of, on_machine
from dbdyno.cli._options import seed_option
from dbdyno.cli.common import SystemClock, allow_option, console, find_target, home, record_lines
from dbdyno.model.errors import EXIT_ERROR, EXIT_INTERRUPTED, EXIT_OK, EXIT_WORSE, UsageError
from dbdyno.model.plan import Arrivals, LoopMode, Phase, Plan, WorkloadSpec
from dbdyno.model.record import to_json
from dbdyno.model.run import Outcome, RunStatus
from dbdyno.run import summary, sysbench
from dbdyno.run.choose import choose_workload, parse_options
from dbdyno.run.driver import check_dataset, cleanup_dataset, list_workloads, load_dataset
from dbdyno.run.execute import execute
from dbdyno.run.outcome import errors_of
from dbdyno.run.record import open_run
from dbdyno.samples.machine import Machine
from dbdyno.sandbox.targets import Resolved
from dbdyno.stats import histogram

ACTIONS = ("run", "prepare", "check", "cleanup")
MEASURE, WARMUP = "measure", "warmup"
_FOREIGN, _OWN = "dbdyno.bench.foreign", "dbdyno.bench.own"
CSV_FIELDS = "t_s,phase,tps,response_mean_ms,response_p50_ms,response_p95_ms,response_p99_ms,errors,retries,reconnects"


@dataclass(frozen=True)
class _Wish:
    """What was typed."""

    action: str
    form: str
    percentiles: tuple[float, ...]
    report_interval: float
    histogram: bool
    prepare: bool
    check: bool
    cleanup: bool


class _Bench(click.Command):
    """Takes `--table_size=1000` and `--table-size 1000` for options of the workload, as sysbench does."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        known = {name for parameter in self.get_params(ctx) for name in (*parameter.opts, *parameter.secondary_opts)}
        rest, foreign = list(args), []
        kept: list[str] = []
        while rest:
            word = rest.pop(0)
            if word == "--":
                kept += [word, *rest]
                break
            name, equals, _ = word.partition("=")
            if not name.startswith("--") or name in known:
                kept.append(word)
                continue
            if not equals:
                if not rest or rest[0].startswith("-"):
                    near = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.7)
                    raise UsageError(
                        f"There is no option {name}.",
                        found=f"did you mean {near[0]}?" if near else "",
                        todo=f"see dyno bench --help; an option of the workload is {name}=VALUE",
                    )
                word += "=" + rest.pop(0)
            foreign.append(word.removeprefix("--"))
        ctx.meta[_FOREIGN] = foreign
        ctx.meta[_OWN] = [name for name in known if name.startswith("--")]
        return super().parse_args(ctx, kept)


@click.command("bench", cls=_Bench, short_help="Load a server and record what happens.")
@click.argument("target")
@click.argument("workload")
@click.argument("action", type=click.Choice(ACTIONS), default="run")
@click.option("--threads", type=click.IntRange(1, 10_000), default=8, show_default=True, help="Connections.")
@click.option("--workers", type=click.IntRange(0, 1_000), default=0, help="Threads of the driver; 0: one a core.")
@click.option("--pipeline", is_flag=True, help="Send BEGIN with the first statement, COMMIT with the last one.")
@click.option(
    "--time", "time_s", type=click.FloatRange(0), default=60.0, show_default=True, help="Seconds; 0: no limit."
)
@click.option("--events", type=click.IntRange(0), default=0, help="End after this many transactions; 0: no limit.")
@click.option("--rate", type=click.FloatRange(0), default=0.0, help="Transactions/s of an open loop; 0: closed loop.")
@click.option("--arrivals", type=click.Choice([str(one) for one in Arrivals]), default="poisson", show_default=True)
@click.option("--warmup-time", type=click.FloatRange(0), default=0.0, help="Seconds of load before measuring.")
@click.option("--report-interval", type=click.FloatRange(0), default=1.0, show_default=True, help="Seconds; 0: silent.")
@click.option(
    "--percentile", "percentiles", multiple=True, type=click.FloatRange(0, 100, min_open=True), help="May be repeated."
)
@click.option("--histogram", "with_histogram", is_flag=True, help="Show the distribution of response times.")
@click.option("--scale", type=int, default=1, show_default=True, help="Size of the dataset, e.g. warehouses.")
@click.option(
    "--option",
    "-k",
    "options",
    multiple=True,
    metavar="NAME=VALUE",
    help="Option of the workload; --NAME=VALUE does the same.",
)
@seed_option
@click.option("--prepare/--no-prepare", default=True, help="Load the dataset first unless it is there.")
@click.option("--check", is_flag=True, help="Check the dataset's consistency afterwards.")
@click.option("--cleanup", is_flag=True, help="Drop the dataset afterwards.")
@click.option("--adopt", is_flag=True, help="Run on a dataset that dyno did not load.")
@host_option
@click.option("--sample/--no-sample", default=True, help="Ask server and machine each second.")
@click.option(
    "--format", "form", type=click.Choice(["text", "json", "sysbench", "csv"]), default="text", show_default=True
)
@click.option("-o", "--name", help="Name of the run below dyno's home, or a folder when it holds a /.")
@allow_option
@click.pass_context
def command(context: click.Context, /, target: str, workload: str, action: str, **words: Any) -> None:
    """Load TARGET with WORKLOAD, and record it.

    TARGET is a sandbox (sandbox:postgresql), a URL (postgresql://user@host/database) or a target file (*.toml). A
    server that is not a sandbox needs --allow load. ACTION is run (which loads the dataset first when it is missing),
    prepare, check or cleanup.

    \b
    dyno bench sandbox:postgresql tpcc --scale 4 --threads 8 --time 60
    dyno bench sandbox:postgresql oltp_read_write --tables=4 --table_size=100000 --rate 500 --format sysbench
    """
    options = parse_options([*words["options"], *context.meta[_FOREIGN]])
    spec = choose_workload(workload, words["scale"], options, list_workloads(), verb=context.meta[_OWN])
    wish = _Wish(
        action=action,
        form=words["form"],
        percentiles=words["percentiles"] or ((95.0,) if words["form"] == "sysbench" else summary.DEFAULT_PERCENTILES),
        report_interval=words["report_interval"],
        histogram=words["with_histogram"],
        prepare=words["prepare"],
        check=words["check"],
        cleanup=words["cleanup"],
    )
    found = find_target(target, words["allow"])
    found.require_load(f"{action} {workload} on it")
    host = words["host"] if words["sample"] and action == "run" else "unknown"
    with found.serving() as served, machine_of(host, served, SystemClock()) as machine, stopping() as stop:
        status = _act(wish, served, spec, words, stop, machine=machine)
    context.exit(status)


@contextlib.contextmanager
def stopping() -> Iterator[threading.Event]:
    """Ctrl-C and a polite kill ask for an orderly end; the second one is not caught any more."""
    stop = threading.Event()

    def ask(number: int, _frame: object) -> None:
        stop.set()
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _act(
    wish: _Wish, served: Resolved, spec: WorkloadSpec, words: dict[str, Any], stop: threading.Event, *, machine: Machine
) -> int:
    target, secret = served.target, served.secret
    if wish.action == "cleanup":
        cleanup_dataset(target, secret, spec, on_progress=_progress)
        return EXIT_OK
    if wish.action == "check":
        return _check(served, spec, words, stop)
    if wish.action == "prepare" or (wish.prepare and not words["adopt"]):
        seed, threads = words["seed"], words["threads"]
        if not load_dataset(target, secret, spec, threads=threads, seed=seed, on_progress=_progress, stop=stop):
            return EXIT_INTERRUPTED
    if wish.action == "prepare":
        return EXIT_OK
    status = _run(wish, on_machine(served, words["host"]), spec, words, stop, machine=machine)
    if wish.check and status == EXIT_OK:
        status = _check(served, spec, words, stop)
    if wish.cleanup and not stop.is_set():
        cleanup_dataset(target, secret, spec, on_progress=_progress)
    return status


def _progress(event: dict[str, Any]) -> None:
    if event["event"] == "progress":
        amount = f" {event['done']}/{event['total']} {event['unit']}" if event.get("total", 0) > 1 else ""
        click.echo(f"{event['step']}{amount}", err=True)


def _check(served: Resolved, spec: WorkloadSpec, words: dict[str, Any], stop: threading.Event) -> int:
    checks = check_dataset(served.target, served.secret, spec, seed=words["seed"], stop=stop)
    for check in checks:
        click.echo(f"{check['verdict']:<8}{check['clause']:<12} {check['title']}: {check['says']}")
        for row in check.get("violations", ()):
            click.echo(f"          {row}")
    if stop.is_set():
        return EXIT_INTERRUPTED
    verdicts = {check["verdict"] for check in checks}
    return EXIT_WORSE if "fail" in verdicts else EXIT_ERROR if "unknown" in verdicts else EXIT_OK


def make_plan(served: Resolved, spec: WorkloadSpec, words: dict[str, Any]) -> Plan:
    """The run as it is planned: a warm-up in a closed loop, then the measurement."""
    if not words["time_s"] and not words["events"]:
        raise UsageError("A run needs an end.", found="--time 0 and --events 0", todo="give one of them")
    rate = words["rate"]
    phases = [Phase(name=WARMUP, time_s=words["warmup_time"], measured=False)] if words["warmup_time"] else []
    phases.append(
        Phase(
            name=MEASURE,
            mode=LoopMode.OPEN if rate else LoopMode.CLOSED,
            time_s=words["time_s"],
            events=words["events"],
            rate_per_s=rate,
            arrivals=Arrivals(words["arrivals"]),
        )
    )
    return Plan(
        target=served.target,
        workload=spec,
        threads=words["threads"],
        workers=words["workers"],
        pipeline=words["pipeline"],
        seed=words["seed"],
        interval_s=words["report_interval"] or 1.0,
        phases=tuple(phases),
        sample=words["sample"],
        command=("dyno", *without_passwords()),
    )


def without_passwords(words: list[str] | None = None) -> list[str]:
    """A command line (ours) for the record: what stands between `:` and `@` of a URL is struck out."""
    clean = []
    for word in sys.argv[1:] if words is None else words:
        scheme, slashes, rest = word.partition("://")
        user, at, place = rest.rpartition("@")
        name, colon, _ = user.partition(":")
        clean.append(f"{scheme}://{name}:***@{place}" if slashes and at and colon else word)
    return clean


def run_folder(name: str | None, engine: str, workload: str, clock: SystemClock) -> Path:
    """Where the run goes; a name with a slash is a folder of the user's choice."""
    if name and "/" in name:
        return Path(name)
    if name:
        return home().runs / name
    # The record's time is UTC; names are for people, who think in local time.
    now = datetime.datetime.fromtimestamp(clock.unix())
    return home().runs / f"{now:%Y%m%d-%H%M%S}-{engine}-{workload}-{secrets.token_hex(2)}"


def _run(
    wish: _Wish,
    served: Resolved,
    spec: WorkloadSpec,
    words: dict[str, Any],
    stop: threading.Event,
    *,
    machine: Machine,
) -> int:
    clock = SystemClock()
    plan = make_plan(served, spec, words)
    folder = run_folder(words["name"], served.engine.name, spec.name, clock)
    show = _Show(wish, plan, folder)
    show.begin()
    box = served.sandbox
    outcome = execute(
        plan,
        served.secret,
        served.engine,
        clock=clock,
        folder=folder,
        server_pids=box.server_pids if box else None,
        device=box.device() if box else None,
        data_folder=box.folder if box else None,
        on_event=show.event,
        stop=stop,
        server_log=box.log_tail if box else None,
        adopt=words["adopt"],
        machine=machine,
    )
    show.end(outcome)
    return EXIT_INTERRUPTED if outcome.status is RunStatus.INTERRUPTED else EXIT_OK


class _Show:
    """Words while a run goes on and at its end, in the form that was asked for."""

    def __init__(self, wish: _Wish, plan: Plan, folder: Path) -> None:
        self._wish, self._plan, self._folder = wish, plan, folder
        self._phase_start_s = 0.0
        self._open = {phase.name for phase in plan.phases if phase.mode is LoopMode.OPEN}

    def begin(self) -> None:
        words = console(stderr=True)
        words.print(f"{self._plan.target.label}, seed {self._plan.seed}, run {self._folder}", markup=False)
        if self._wish.form == "csv":
            click.echo(CSV_FIELDS)

    def event(self, event: dict[str, Any]) -> None:
        if event["event"] == "phase" and event["state"] == "start":
            self._phase_start_s = float(event["t_s"])
        if event["event"] != "interval" or not self._wish.report_interval:
            return
        elapsed_s = float(event["t_s"]) - self._phase_start_s
        percentiles = self._wish.percentiles
        match self._wish.form:
            case "text":
                click.echo(summary.interval_line(event, elapsed_s, percentiles))
            case "sysbench" if event["seconds"] > 0.5 * self._plan.interval_s:
                queue = event["phase"] in self._open
                click.echo("\n".join(sysbench.interval_lines(event, elapsed_s, percentiles[0], queue=queue)))
            case "csv":
                click.echo(_csv_line(event))

    def end(self, outcome: Outcome) -> None:
        form, last = self._wish.form, outcome.phases[-1] if outcome.phases else None
        if form == "json":
            click.echo(to_json({"folder": str(self._folder), "outcome": outcome}).decode())
        elif form == "sysbench" and last is not None:
            statements, reconnects = sysbench.statements_of(open_run(self._folder).events(), last.phase)
            lines = sysbench.histogram_lines(last.response.hdr) if self._wish.histogram else []
            lines += sysbench.summary_lines(last, statements, reconnects, self._wish.percentiles[0])
            click.echo("\n".join(lines))
            click.echo("\n".join(summary.doubt_lines(outcome)), err=True)
        elif form == "text":
            click.echo("")
            if self._wish.histogram and last is not None:
                click.echo("\n".join(sysbench.histogram_lines(last.response.hdr)))
            click.echo("\n".join(summary.summary_lines(outcome, self._wish.percentiles)))
            click.echo(record_lines(self._folder, "explain", "report"))


def _csv_line(event: dict[str, Any]) -> str:
    transactions = event["transactions"].values()
    response = histogram.decode(event["response"].get("hdr", ""))
    times = [event["response"]["mean_us"], *(response.percentile_us(p) for p in (50, 95, 99))]
    count = sum(one["count"] for one in transactions)
    cells = [f"{event['t_s']:.3f}", event["phase"], f"{count / event['seconds']:.2f}"]
    cells += [f"{us / 1e3:.3f}" for us in times]
    cells += [str(errors_of(event["transactions"]))]
    cells += [str(sum(one["retries"] for one in transactions)), str(event.get("reconnects", 0))]
    return ",".join(cells)
