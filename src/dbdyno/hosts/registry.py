"""Finds the machine's probes: every other module here that defines `PROBE` and `read`. No list.

Reading and parsing are two functions in each: `read` opens files under a root that comes as an argument, `parse` is
pure. `read` raises `OSError` or `ValueError`; who asks records that as the reason.
"""

from __future__ import annotations

import functools
import importlib
import os
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import dbdyno.hosts
from dbdyno.model.fact import Scalar
from dbdyno.model.probe import Probe

Rows = list[dict[str, Scalar]]


@dataclass(frozen=True)
class Watch:
    """What of the machine belongs to the run."""

    processes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Process ids by who they are: `server`, `driver`, `dyno`."""
    devices: tuple[str, ...] = ()
    """Block devices that are watched even when they are of a kind that is usually left out (`loop0`)."""
    jobs: Mapping[str, str] = field(default_factory=dict)
    """Kinds of programs by their names, beside those that `hosts.jobs` knows itself."""
    page_bytes: int = os.sysconf("SC_PAGESIZE")
    """Of the machine that is read, as is the next."""
    ticks_per_s: int = os.sysconf("SC_CLK_TCK")
    """In which the kernel counts processor time."""


@dataclass(frozen=True)
class HostProbe:
    """A definition and how it is read."""

    probe: Probe
    read: Callable[[Path, Watch], Rows]


@functools.cache
def host_probes() -> tuple[HostProbe, ...]:
    """All probes of the machine, by name."""
    found = []
    for info in pkgutil.iter_modules(dbdyno.hosts.__path__):
        module = importlib.import_module(f"dbdyno.hosts.{info.name}")
        if hasattr(module, "PROBE"):
            found.append(HostProbe(module.PROBE, module.read))
    return tuple(sorted(found, key=lambda one: one.probe.name))
