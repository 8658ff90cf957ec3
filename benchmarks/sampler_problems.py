"""Problems on which samplers are compared: a surrogate of measured data, and synthetic functions.

Each problem has the tuner's own knobs, a stock default, and a true throughput for every assignment; what a sampler
sees is that throughput times log-normal noise which is a function of (seed, trial), so that a problem is the same for
every sampler and every repetition.
"""

from __future__ import annotations

import csv
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dbdyno.model.knob import Assignment, Knob

NOISE = 0.04
"""Coefficient of variation of replicates in the measured data."""

_ORIGIN = (
    "SYSBENCH_20knob.csv and SYSBENCH_5knob.csv come from the artefact of the PKU-DAIR/DBTune repository (folder "
    "tuning_benchmark/data, MIT licence; Zhang et al., 'Facilitating Database Tuning with Hyper-Parameter "
    "Optimization: A Comprehensive Experimental Evaluation', VLDB 2022). They are not part of this repository: fetch "
    "them and name their folder with --data."
)


@dataclass(frozen=True)
class Problem:
    name: str
    title: str
    knobs: tuple[Knob, ...]
    default: Assignment
    truth: Callable[[Assignment], float]
    """Transactions per second without noise."""
    noise: float = NOISE

    def observe(self, assignment: Assignment, seed: int, trial: int) -> float:
        draw = np.random.default_rng((seed, trial, 20_221_101)).standard_normal()
        return self.truth(assignment) * math.exp(self.noise * draw)


# Categorical columns are coded as whole numbers in the data.
_WORDS = {"log_output": ("0", "1", "2"), "general_log": ("0", "1")}
_STOCK = {"max_heap_table_size": 16777216, "tmp_table_size": 16777216, "query_prealloc_size": 8192,
          "innodb_thread_concurrency": 0}  # fmt: skip


def measured(data: Path, knobs: int) -> Problem:
    """Random forest over the rows with the doublewrite buffer on: the others may lose data, so they are no answer."""
    from sklearn.ensemble import RandomForestRegressor

    path = data / f"SYSBENCH_{knobs}knob.csv"
    if not path.is_file():
        sys.exit(f"sampler.py: {path} is missing.\n{_ORIGIN}")
    with path.open() as file:
        rows = [row for row in csv.DictReader(file) if row["innodb_doublewrite"] == "1"]
    names = [name for name in rows[0] if name not in ("", "innodb_doublewrite", "tps")]
    x = np.array([[float(row[name]) for name in names] for row in rows])
    y = np.array([float(row["tps"]) for row in rows])
    forest = RandomForestRegressor(n_estimators=200, random_state=0, n_jobs=1).fit(x, y)
    default = _default_row(names, x) if knobs > 5 else {name: _STOCK[name] for name in names}
    table = tuple(_knob(name, x[:, i], default[name]) for i, name in enumerate(names))
    start: Assignment = {k.name: str(int(default[k.name])) if k.choices else int(default[k.name]) for k in table}

    def truth(assignment: Assignment) -> float:
        row = np.array([[float(assignment[name]) for name in names]])
        return float(forest.predict(row)[0])

    title = f"random forest over measured sysbench runs of one server, {len(names)} knobs, {len(rows)} rows"
    return Problem(f"measured{knobs}", title, table, start, truth)


def _default_row(names: list[str], x: np.ndarray) -> dict[str, float]:
    """The configuration that was measured most often: the server's stock default, repeated as a control."""
    values, counts = np.unique(x, axis=0, return_counts=True)
    return dict(zip(names, values[int(np.argmax(counts))], strict=True))


def _knob(name: str, column: np.ndarray, default: float) -> Knob:
    if name in _WORDS:
        return Knob(name=name, title=name, choices=_WORDS[name], default=str(int(default)))
    return Knob(name=name, title=name, low=float(column.min()), high=float(column.max()), default=int(default))


def synthetic_smooth() -> Problem:
    """Hartmann's six-dimensional function plus six dimensions without effect, as tps between 300 and 900."""
    a = np.array([[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14], [3, 3.5, 1.7, 10, 17, 8],
                  [17, 8, 0.05, 10, 0.1, 14]])  # fmt: skip
    p = 1e-4 * np.array([[1312, 1696, 5569, 124, 8283, 5886], [2329, 4135, 8307, 3736, 1004, 9991],
                         [2348, 1451, 3522, 2883, 3047, 6650], [4047, 8828, 8732, 5743, 1091, 381]])  # fmt: skip
    alpha = np.array([1.0, 1.2, 3.0, 3.2])
    names = [f"x{i}" for i in range(12)]
    knobs = tuple(Knob(name=n, title=n, low=0.0, high=1.0, integer=False, default=0.5) for n in names)

    def truth(assignment: Assignment) -> float:
        u = np.array([float(assignment[n]) for n in names[:6]])
        return 300 + 180 * float(alpha @ np.exp(-np.sum(a * (u - p) ** 2, axis=1)))

    start: Assignment = dict.fromkeys(names, 0.5)
    return Problem("smooth12", "Hartmann 6 among 12 knobs", knobs, start, truth)


def synthetic_server() -> Problem:
    """A small server: saturating cache, log size with a kink, a special value that beats the numbers, a bad word."""
    knobs = (
        Knob(name="cache", title="cache", low=128, high=16384, log=True, default=128),
        Knob(name="log", title="log", low=64, high=65536, log=True, default=1024),
        Knob(name="delay", title="delay", low=1, high=10000, log=True, special=(0,), default=0),
        Knob(name="flush", title="flush", low=1, high=256, log=True, special=(0, -1), default=0),
        Knob(name="compress", title="compress", choices=("off", "fast", "small"), default="off"),
        Knob(name="io", title="io", low=1, high=1000, log=True, default=1),
        Knob(name="target", title="target", low=0.1, high=0.95, integer=False, default=0.5),
        Knob(name="idle1", title="idle1", low=0, high=100, default=50),
        Knob(name="idle2", title="idle2", choices=("on", "off"), default="on"),
    )

    def truth(assignment: Assignment) -> float:
        cache, log, delay, flush, io = (float(assignment[n]) for n in ("cache", "log", "delay", "flush", "io"))
        hit = cache / (cache + 1500)
        gain = 0.9 * hit + 0.35 * min(1.0, math.log2(log / 64) / 7) - 0.25 * max(0.0, math.log2(cache / 8192))
        gain += 0.12 * math.exp(-((math.log10(delay) - 1.7) ** 2) / 0.3) if delay > 0 else 0.0
        gain += 0.18 - 0.05 * abs(math.log2(flush) - 5) if flush > 0 else {0: 0.0, -1: 0.1}[int(flush)]
        word = str(assignment["compress"])
        gain += {"off": 0.0, "fast": 0.12, "small": -0.3 + 0.2 * hit}[word]
        gain += 0.1 * math.exp(-((math.log10(io) - 2.2) ** 2) / 0.5) * (1 + (log > 4096))
        gain -= 0.4 * (float(assignment["target"]) - 0.8) ** 2
        return 250 * math.exp(gain)

    start: Assignment = {k.name: k.default for k in knobs}
    return Problem("server9", "synthetic server with conditional special values", knobs, start, truth)
