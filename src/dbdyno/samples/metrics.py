"""The latest samples for Prometheus: one metric a column, named by its probe, column and unit.

Counters end in `_total`, units stand last and are base units (seconds, bytes), keys are labels, as the Prometheus
manual's "Metric and label naming" has it. What could not be asked is not exposed as a number: `dyno_probe_up` is 0.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence

from prometheus_client.core import CollectorRegistry, CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import start_http_server

from dbdyno.model.errors import HostError, UsageError
from dbdyno.model.probe import Column, ColumnKind, Probe, Sample

_UNITS = {"B": ("bytes", 1.0), "ms": ("seconds", 1e-3), "s": ("seconds", 1.0), "us": ("seconds", 1e-6), "unix_s": ("timestamp_seconds", 1.0)}  # fmt: skip # noqa: E501
_SUFFIXES = ("_bytes", "_ms", "_s", "_us", "_seconds")
Family = CounterMetricFamily | GaugeMetricFamily


class Latest:
    """The last answer of each probe; also the collector that the registry asks."""

    def __init__(self, probes: Sequence[Probe], target: str) -> None:
        self._probes = {probe.name: probe for probe in probes}
        self._target = target
        self._samples: dict[str, Sample] = {}
        self._lock = threading.Lock()

    def take(self, sample: Sample) -> None:
        with self._lock:
            self._samples[sample.probe] = sample

    def collect(self) -> Iterator[Family]:
        with self._lock:
            samples = dict(self._samples)
        up = GaugeMetricFamily("dyno_probe_up", "Whether the probe was answered", labels=["target", "probe"])
        cost = GaugeMetricFamily("dyno_probe_seconds", "How long the question took", labels=["target", "probe"])
        for name, sample in sorted(samples.items()):
            up.add_metric([self._target, name], 0.0 if sample.unknown else 1.0)
            cost.add_metric([self._target, name], sample.cost_ms / 1e3)
            if probe := self._probes.get(name):
                yield from self._families(probe, sample)
        yield up
        yield cost

    def _families(self, probe: Probe, sample: Sample) -> Iterable[Family]:
        keys = [column.name for column in probe.columns if column.kind is ColumnKind.KEY]
        for column in probe.columns:
            if column.kind not in (ColumnKind.COUNTER, ColumnKind.GAUGE):
                continue
            name, factor = metric_name(probe.name, column)
            kind = CounterMetricFamily if column.kind is ColumnKind.COUNTER else GaugeMetricFamily
            family: Family = kind(name, column.help or probe.title, labels=["target", *keys])
            for row in sample.rows:
                value = row.get(column.name)
                if isinstance(value, int | float):
                    labels = [self._target, *(str(row.get(key, "")) for key in keys)]
                    family.add_metric(labels, float(value) * factor)
            yield family


def metric_name(probe: str, column: Column) -> tuple[str, float]:
    """Name (without `_total`, which the library adds to counters) and the factor to its base unit."""
    unit, factor = _UNITS.get(column.unit, ("", 1.0))
    name = column.name
    if unit:
        for suffix in _SUFFIXES:
            name = name.removesuffix(suffix)
    return "_".join(part for part in ("dyno", probe, name, unit) if part), factor


def serve(latest: Latest, address: str) -> None:
    """Answers `http://address/metrics` from a thread until the process ends. Raises `UsageError`, `HostError`."""
    host, _, port = address.rpartition(":")
    if not port.isdigit() or not 0 < int(port) < 65536:
        raise UsageError("This is no address for metrics.", found=repr(address), todo="write HOST:PORT or :PORT")
    registry = CollectorRegistry()
    registry.register(latest)
    try:
        start_http_server(int(port), host or "127.0.0.1", registry)
    except OSError as error:
        raise HostError(f"Metrics cannot be served on {address}.", found=error.strerror or str(error)) from None
