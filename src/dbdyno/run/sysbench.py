"""Text in sysbench's own format, for eyes and scripts that know it.

Source: sysbench 1.0.20, the files sysbench.c, db_driver.c and sb_histogram.c.

What sysbench calls latency is our response time. Its "ignored errors" are attempts that ended in a deadlock, a
serialization failure or a duplicate key. Fairness between threads is not measured here: its
deviations read `nan`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from dbdyno.model.run import PhaseOutcome
from dbdyno.run.outcome import count_of, failed_attempts_of
from dbdyno.stats import histogram

_BUCKETS, _LOW_MS, _HIGH_MS, _BAR = 1024, 0.001, 100_000.0, 40


def interval_lines(event: Mapping[str, Any], elapsed_s: float, percentile: float, *, queue: bool) -> list[str]:
    """The line of an `interval` event; with `queue` (open loop) the line about the queue after it."""
    seconds = float(event["seconds"]) or 1.0
    statements = {kind: int(n) / seconds for kind, n in event["statements"].items()}
    qps = sum(statements.values())
    transactions = event["transactions"]
    latency_ms = histogram.decode(event["response"].get("hdr", "")).percentile_us(percentile) / 1e3
    errors = failed_attempts_of(transactions) / seconds
    lines = [
        f"[ {elapsed_s:.0f}s ] thds: {event['threads']} tps: {count_of(transactions) / seconds:4.2f} qps: {qps:4.2f} "
        f"(r/w/o: {statements['read']:4.2f}/{statements['write']:4.2f}/{statements['other']:4.2f}) "
        f"lat (ms,{percentile:.0f}%): {latency_ms:4.2f} err/s: {errors:4.2f} "
        f"reconn/s: {int(event.get('reconnects', 0)) / seconds:4.2f}"
    ]
    if queue:
        backlog, busy = int(event.get("backlog", 0)), int(event.get("in_flight", 0))
        lines.append(f"[ {elapsed_s:.0f}s ] queue length: {backlog}, concurrency: {busy}")
    return lines


def summary_lines(phase: PhaseOutcome, statements: Mapping[str, int], reconnects: int, percentile: float) -> list[str]:
    """The statistics at the end."""
    seconds = phase.seconds or 1.0
    total = sum(statements.values())
    ignored = failed_attempts_of(phase.transactions)
    response = histogram.decode(phase.response.hdr)
    values, counts = response.spectrum()
    least_us = float(values[counts > 0][0]) if response.count else 0.0
    sum_ms = phase.response.mean_us * phase.response.count / 1e3
    threads = phase.threads or 1

    def rate(label: str, n: int) -> str:
        return f"    {label:<36} {n:<6} ({n / seconds:.2f} per sec.)"

    def times(label: str, value: float) -> str:
        return f"         {label:<36}{value:>8.2f}"

    return [
        "SQL statistics:",
        "    queries performed:",
        *(f"        {kind + ':':<32} {n}" for kind, n in [*statements.items(), ("total", total)]),
        rate("transactions:", phase.count),
        rate("queries:", total),
        rate("ignored errors:", ignored),
        rate("reconnects:", reconnects),
        "",
        "General statistics:",
        f"    total time:                          {seconds:.4f}s",
        f"    total number of events:              {phase.count}",
        "",
        "Latency (ms):",
        times("min:", least_us / 1e3),
        times("avg:", phase.response.mean_us / 1e3),
        times("max:", phase.response.max_us / 1e3),
        times(f"{percentile:.0f}th percentile:", response.percentile_us(percentile) / 1e3),
        times("sum:", sum_ms),
        "",
        "Threads fairness:",
        f"    events (avg/stddev):           {phase.count / threads:.4f}/nan",
        f"    execution time (avg/stddev):   {sum_ms / 1e3 / threads:.4f}/nan",
        "",
    ]


def histogram_lines(hdr: str) -> list[str]:
    """The distribution over sysbench's own buckets: 1,024 of equal width in the logarithm, 1 µs to 100 s."""
    values, counts = histogram.decode(hdr).spectrum()
    step = (_BUCKETS - 1) / (math.log(_HIGH_MS) - math.log(_LOW_MS))
    buckets: dict[int, int] = {}
    for value_us, n in zip(values.tolist(), counts.tolist(), strict=True):
        if n:
            position = (math.log(max(value_us / 1e3, _LOW_MS)) - math.log(_LOW_MS)) * step + 0.5
            index = min(_BUCKETS - 1, math.floor(position))
            buckets[index] = buckets.get(index, 0) + int(n)
    most = max(buckets.values(), default=0)
    lines = [
        "Latency histogram (values are in milliseconds)",
        "       value  ------------- distribution ------------- count",
    ]
    for index, n in sorted(buckets.items()):
        bar = "*" * math.floor(n * _BAR / most + 0.5)
        lines.append(f"{math.exp(index / step + math.log(_LOW_MS)):12.3f} |{bar:<{_BAR}} {n}")
    return [*lines, " "]


def statements_of(events: Sequence[Mapping[str, Any]], phase: str) -> tuple[dict[str, int], int]:
    """Statements by kind and reconnects of a phase: from its summary, or its intervals when it was cut off."""
    parts = [e for e in events if e["event"] == "summary" and e["phase"] == phase]
    parts = parts or [e for e in events if e["event"] == "interval" and e["phase"] == phase]
    kinds = ("read", "write", "other")
    found = {kind: sum(int(part["statements"].get(kind, 0)) for part in parts) for kind in kinds}
    return found, sum(int(part.get("reconnects", 0)) for part in parts)
