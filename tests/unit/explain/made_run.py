"""Writes run folders with a known stall, for tests of reading them: a generator, so that the truth is in one place.

A driver's load of `level` transactions a second, with nothing done from 60 to 70 s; meanwhile a checkpoint that log
volume forced (`forced`), or none. One line a second and probe, as the sampler writes them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dbdyno.model.plan import Phase, Plan, WorkloadSpec
from dbdyno.model.probe import Column, ColumnKind, Probe
from dbdyno.model.record import to_json
from dbdyno.model.run import Outcome, RunStatus
from dbdyno.model.target import Target

STALL = (60, 70)
_COUNTER, _GAUGE, _KEY, _TEXT = ColumnKind.COUNTER, ColumnKind.GAUGE, ColumnKind.KEY, ColumnKind.TEXT

PROBES = (
    Probe(
        name="checkpoints",
        title="Checkpoints",
        columns=(
            Column(name="timed", kind=_COUNTER, role="checkpoints_timed"),
            Column(name="requested", kind=_COUNTER, role="checkpoints_requested"),
            Column(name="write_ms", kind=_COUNTER, unit="ms", role="checkpoint_write_ms"),
            Column(name="sync_ms", kind=_COUNTER, unit="ms", role="checkpoint_sync_ms"),
        ),
    ),
    Probe(
        name="wal",
        title="Log",
        columns=(
            Column(name="position_bytes", kind=_COUNTER, unit="B", role="wal_bytes"),
            Column(name="distance_bytes", kind=_GAUGE, unit="B", role="checkpoint_distance_bytes"),
        ),
    ),
    Probe(
        name="database",
        title="Database",
        columns=(
            Column(name="commits", kind=_COUNTER, role="commits"),
            Column(name="server_started", kind=_GAUGE, unit="unix_s", role="server_started"),
        ),
    ),
    Probe(
        name="waits",
        title="Waits",
        columns=(
            Column(name="kind", kind=_KEY),
            Column(name="event", kind=_KEY),
            Column(name="count", kind=_GAUGE, role="waiting"),
        ),
    ),
)
SETTINGS = {
    "max_wal_size": ("1024", "MB"),
    "checkpoint_timeout": ("300", "s"),
    "checkpoint_completion_target": ("0.9", ""),
    "checkpoint_flush_after": ("32", "8kB"),
    "commit_delay": ("0", ""),
}


def write(
    folder: Path, *, seconds: int = 120, load: bool = True, forced: bool = True, level: int = 1000, stall: bool = True
) -> Path:
    """A folder as a run leaves it. `load` False: a recording without load, with commits from the server."""
    folder.mkdir(parents=True)
    plan = Plan(
        verb="run" if load else "record",
        target=Target(engine="postgresql", host="127.0.0.1", port=5432, user="u", database="d"),
        workload=WorkloadSpec(name="tpcb") if load else None,
        phases=(Phase(name="measure", time_s=float(seconds)),),
    )
    (folder / "plan.json").write_bytes(to_json(plan))
    (folder / "probes.json").write_bytes(to_json(PROBES))
    with (folder / "facts.jsonl").open("w") as file:
        for name, (value, unit) in SETTINGS.items():
            fact = {"name": f"setting.{name}", "value": value, "unit": unit, "when": "before"}
            file.write(json.dumps(fact) + "\n")
    with (folder / "events.jsonl").open("w") as events, (folder / "samples.jsonl").open("w") as samples:
        commits = position = 0.0
        for t_s in range(1, seconds + 1):
            held = stall and STALL[0] < t_s <= STALL[1]
            rate = 0 if held else level + (t_s * 37) % 11
            commits += rate
            position += 1e7
            if load:
                events.write(json.dumps(_interval(t_s, rate)) + "\n")
            for name, rows in _answers(t_s, commits, position, held=held, forced=forced).items():
                sample = {"t_s": t_s + 0.001, "probe": name, "cost_ms": 0.1, "rows": rows, "unknown": ""}
                samples.write(json.dumps(sample, separators=(",", ":")) + "\n")
    (folder / "outcome.json").write_bytes(to_json(Outcome(status=RunStatus.DONE)))
    return folder


def _interval(t_s: int, rate: int) -> dict[str, Any]:
    return {
        "event": "interval",
        "phase": "measure",
        "seconds": 1.0,
        "threads": 8,
        "transactions": {"one": {"count": rate, "errors": {}, "retries": 0, "rollbacks": 0}},
        "response": {"count": rate, "p99_us": 900.0, "max_us": 1000.0},
        "t_s": float(t_s),
    }


def _answers(t_s: int, commits: float, position: float, *, held: bool, forced: bool) -> dict[str, list[dict[str, Any]]]:
    over = t_s > STALL[1] and forced
    distance = position - (STALL[1] * 1e7 if over else 0) if forced else 1e6
    checkpoint = {"timed": 0, "requested": int(over), "write_ms": 4000.0 * over, "sync_ms": 5000.0 * over}
    waits = (
        [{"kind": "IO", "event": "WALSync", "count": 8}] if held else [{"kind": "CPU", "event": "running", "count": 8}]
    )
    return {
        "checkpoints": [checkpoint],
        "wal": [{"position_bytes": position, "distance_bytes": distance}],
        "database": [{"commits": commits, "server_started": 1.7e9}],
        "waits": waits,
    }
