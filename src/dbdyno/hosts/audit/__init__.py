"""All that a configuration audit asks of a machine. One module a subject, each with `read(tree, subject)`; no list.

Names of facts: `host.sysctl.<key>` is the kernel's value now and `host.boot.sysctl.<key>` what the next boot gives;
`host.data.*` and `host.log.*` are about the storage under the server's data and its log, `host.block.<device>.*` about
a block device, `host.server.*` about the server's first process. `host.now.*` was measured over a moment.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable, Mapping
from pathlib import Path

import dbdyno.hosts.audit
from dbdyno.hosts import activity, facts
from dbdyno.hosts.subject import Subject
from dbdyno.hosts.tree import Tree
from dbdyno.model.clock import Clock
from dbdyno.model.fact import Fact

Reader = Callable[[Tree, Subject], list[Fact]]


@functools.cache
def readers() -> Mapping[str, Reader]:
    """Every module of this folder by name."""
    return {
        info.name: importlib.import_module(f"dbdyno.hosts.audit.{info.name}").read
        for info in pkgutil.iter_modules(dbdyno.hosts.audit.__path__)
    }


def read_host(root: Path, subject: Subject, *, clock: Clock | None = None, pause_s: float = 0.0) -> list[Fact]:
    """All facts of the machine under `root`: those that a run records, and those of the audit. Raises nothing.

    With a clock, what counts up is read twice, at least `pause_s` seconds apart (the reading itself counts); without
    one the `host.now.*` facts say that they need two samples.
    """
    tree = Tree(root)
    before, started_s = activity.read(tree), clock.monotonic() if clock else 0.0
    found = facts.read_facts(root, folder=subject.data_dir, device=subject.device, pids=subject.pids)
    for read in readers().values():
        found += read(tree, subject)
    if clock is None:
        return found + activity.compare(before, before, 0.0)
    clock.sleep(max(0.0, pause_s - (clock.monotonic() - started_s)))
    return found + activity.compare(before, activity.read(tree), clock.monotonic() - started_s)
