"""A run in a few lines for a terminal: doubts first, then what was measured. Pure functions of an outcome."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from dbdyno.model.fact import Scalar
from dbdyno.model.run import Outcome, PhaseOutcome
from dbdyno.run.outcome import count_of, errors_of, retries_of
from dbdyno.stats import histogram

DEFAULT_PERCENTILES = (50.0, 95.0, 99.0, 99.9)


def doubt_lines(outcome: Outcome) -> list[str]:
    """What weakens the run and what would help."""
    lines = []
    for note in outcome.doubts:
        mark = "DOUBT" if note.doubt.grave else "note "
        lines.append(f"{mark} {note.says}" + (f" ({note.helps})" if note.helps else ""))
    return lines


def interval_line(event: Mapping[str, Any], elapsed_s: float, percentiles: Sequence[float]) -> str:
    """One interval of the driver."""
    seconds = float(event["seconds"]) or 1.0
    transactions = event["transactions"]
    response = histogram.decode(event["response"].get("hdr", ""))
    times = " ".join(f"p{p:g} {_ms(response.percentile_us(p))}" for p in percentiles)
    line = f"{elapsed_s:6.0f} s  {event['phase']:<8} {count_of(transactions) / seconds:9.1f} tps  response ms {times}"
    for label, n in (
        ("given up", errors_of(transactions)),
        ("retries", retries_of(transactions)),
        ("reconnects", int(event.get("reconnects", 0))),
        ("waiting", int(event.get("backlog", 0))),
    ):
        if n:
            line += f"  {label} {n}"
    return line


def summary_lines(outcome: Outcome, percentiles: Sequence[float] = DEFAULT_PERCENTILES) -> list[str]:
    """All of it."""
    lines = doubt_lines(outcome)
    if lines:
        lines.append("")
    if outcome.error:
        lines += [f"status {outcome.status}: {outcome.error}", ""]
    elif outcome.status != "done":
        lines += [f"status {outcome.status}", ""]
    for phase in outcome.phases:
        lines += [*phase_lines(phase, percentiles), ""]
    server = server_lines(outcome.server, sum(phase.count for phase in outcome.phases if phase.measured))
    if server:
        lines += ["server, while measured", *server, ""]
    lines += watching_lines(outcome)
    return lines


def phase_lines(phase: PhaseOutcome, percentiles: Sequence[float]) -> list[str]:
    """One phase: throughput, the workload's own figures, times of both kinds, what failed."""
    note = "" if phase.measured else ", not measured"
    lines = [f"{phase.phase} ({phase.seconds:.1f} s, {phase.threads} connections{note})"]
    lines.append(f"  transactions of all types   {phase.count}  ({phase.tps:.1f} per s)")
    lines += [f"  {name:<27} {value:.5g}" for name, value in sorted(phase.figures.items())]
    head = "".join(f"{f'p{p:g}':>10}" for p in percentiles)
    lines.append(f"  {'times, ms':<16}{'mean':>10}{head}{'max':>10}")
    rows = [("response", phase.response), ("service", phase.service)]
    if len(phase.by_type) > 1:
        rows += [(f"  {name}", both["response"]) for name, both in sorted(phase.by_type.items()) if "response" in both]
    for label, latency in rows:
        found = histogram.decode(latency.hdr)
        cells = "".join(f"{_ms(found.percentile_us(p)):>10}" for p in percentiles)
        lines.append(f"  {label:<16}{_ms(latency.mean_us):>10}{cells}{_ms(latency.max_us):>10}")
    lines.append(f"  given up {phase.errors}, repeated attempts {phase.retries}")
    if phase.driver_cpu_us_per_transaction:
        lines.append(f"  driver's processor time     {phase.driver_cpu_us_per_transaction:.1f} µs per transaction")
    return lines


def server_lines(server: Mapping[str, Scalar], transactions: int) -> list[str]:
    """Counters that say most; those not known are left out."""

    def number(name: str) -> float | None:
        value = server.get(name)
        return float(value) if isinstance(value, int | float) else None

    lines = []
    for name, label in (("wal_bytes", "log written"), ("write_bytes", "bytes written to storage")):
        if (value := number(name)) is not None:
            each = f"  ({value / transactions:.0f} per transaction)" if transactions else ""
            lines.append(f"  {label:<27} {value / 1e6:.1f} MB{each}")
    timed, requested = number("checkpoints_timed"), number("checkpoints_requested")
    if timed is not None and requested is not None:
        lines.append(f"  {'checkpoints':<27} {timed:.0f} timed, {requested:.0f} requested")
    if (ratio := number("cache_hit_ratio")) is not None:
        lines.append(f"  {'cache hit ratio':<27} {ratio:.2%}")
    return lines


def watching_lines(outcome: Outcome) -> list[str]:
    """What watching cost: questions, our processor time, and the way to another machine."""
    costs = outcome.sampling

    def number(name: str) -> float:
        value = costs.get(name)
        return float(value) if isinstance(value, int | float) else 0.0

    asked = sum(number(name) for name in costs if name.endswith("_questions"))
    cpu_s = sum(number(name) for name in costs if name.endswith("_cpu_s"))
    seconds = number("seconds")
    lines = [f"watching: {asked:.0f} questions, {cpu_s:.2f} s of processor time"] if asked else []
    if lines and seconds:
        lines[0] += f" ({cpu_s / seconds:.1%} of one core)"
    if seconds and (queries := number("server_questions")):
        busy_ms = number("server_ms") / seconds
        lines.append(f"  server: {queries / seconds:.1f} questions/s, one after the other, {busy_ms:.1f} ms a second")
    if seconds and (fetched := number("machine_received_bytes")):
        sent = number("machine_sent_bytes") / seconds
        lines.append(
            f"  machine over SSH: {fetched / seconds / 1e3:.1f} kB received and {sent / 1e3:.1f} kB sent a second, "
            f"{number('machine_ms') / seconds:.1f} ms a second, {number('machine_reconnects'):.0f} reconnects"
        )
    if skipped := number("server_ticks_skipped") + number("machine_ticks_skipped"):
        lines.append(f"  left out because the questions before took too long: {skipped:.0f} ticks")
    if failure := costs.get("failure"):
        lines.append(f"watching failed: {failure}")
    return lines


def _ms(us: float) -> str:
    return "-" if math.isnan(us) else f"{us / 1e3:.2f}"
