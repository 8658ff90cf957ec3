"""Our text in sysbench's format against what sysbench 1.0.20 itself printed (tests/fixtures/sysbench-1.0.20.txt)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from dbdyno.model.run import Latency, PhaseOutcome
from dbdyno.run import sysbench
from dbdyno.stats import histogram

THEIRS = (Path(__file__).parents[2] / "fixtures/sysbench-1.0.20.txt").read_text().splitlines()


def encoded(*milliseconds: float) -> str:
    return histogram.encode(histogram.from_values_us([one * 1e3 for one in milliseconds]))


def event(**changes: Any) -> dict[str, Any]:
    values: dict[str, Any] = {
        "seconds": 1.0, "threads": 4, "reconnects": 0, "backlog": 0, "in_flight": 0,
        "transactions": {"t": {"count": 97, "errors": {"deadlock": 2}, "retries": 2}},
        "statements": {"read": 1384, "write": 389, "other": 201}, "response": {"hdr": encoded(17.96)},
    }  # fmt: skip
    return values | changes


def blank(line: str) -> str:
    """The line with every number struck out, its length kept where numbers are padded."""
    return re.sub(r"\d+(\.\d+)?|nan", "#", line)


def test_interval_line_is_theirs() -> None:
    theirs = [line for line in THEIRS if line.startswith("[ 1s ]")]
    ours = sysbench.interval_lines(event(), 1.0, 95, queue=True)
    assert [blank(line) for line in ours] == [blank(line) for line in theirs]
    assert ours[0] == (
        "[ 1s ] thds: 4 tps: 97.00 qps: 1974.00 (r/w/o: 1384.00/389.00/201.00) "
        "lat (ms,95%): 17.97 err/s: 2.00 reconn/s: 0.00"
    )


def test_without_a_rate_there_is_no_line_about_the_queue() -> None:
    assert len(sysbench.interval_lines(event(), 1.0, 95, queue=False)) == 1


@pytest.fixture
def phase() -> PhaseOutcome:
    hdr = encoded(0.96, 7.32, 16.41, 35.59)
    response = Latency(count=297, mean_us=7319.6, max_us=35590.0, hdr=hdr)
    return PhaseOutcome(
        phase="measure", started_t_s=0.1, seconds=3.0137, threads=4, measured=True, count=297, tps=98.53,
        transactions={"t": {"count": 297, "errors": {"deadlock": 2}, "retries": 2}}, errors=0, retries=2,
        response=response, service=response,
    )  # fmt: skip


def test_statistics_are_theirs(phase: PhaseOutcome) -> None:
    """Same words, same columns; with the same counts, the same bytes up to the measured times."""
    statements = {"read": 4186, "write": 1185, "other": 605}
    theirs = THEIRS[THEIRS.index("SQL statistics:") :]
    ours = sysbench.summary_lines(phase, statements, 0, 95)
    assert len(ours) == len(theirs)
    assert [blank(line) for line in ours] == [blank(line) for line in theirs]
    assert [len(line) for line in ours][:-3] == [len(line) for line in theirs][:-3]
    upto = theirs.index("Latency (ms):")
    # Rates: sysbench divides by its own, slightly later end.
    assert [line.split("(")[0] for line in ours[:upto]] == [line.split("(")[0] for line in theirs[:upto]]


def test_histogram_is_theirs() -> None:
    start = THEIRS.index("Latency histogram (values are in milliseconds)")
    theirs = THEIRS[start : THEIRS.index("SQL statistics:")]
    values = []
    for line in theirs[2:-1]:
        value, n = float(line.split()[0]), int(line.split()[-1])
        values += [value] * n
    assert sysbench.histogram_lines(encoded(*values)) == theirs


def test_an_empty_run_divides_by_nothing(phase: PhaseOutcome) -> None:
    nothing = PhaseOutcome(
        phase="measure", started_t_s=0, seconds=0, threads=0, measured=True, count=0, tps=0, transactions={},
        errors=0, retries=0, response=Latency(), service=Latency(),
    )  # fmt: skip
    assert "    transactions:                        0      (0.00 per sec.)" in sysbench.summary_lines(
        nothing, {}, 0, 95
    )
    assert len(sysbench.histogram_lines("")) == 3
