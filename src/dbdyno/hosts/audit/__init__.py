"""All that a configuration audit asks of a machine. One module a subject, each with `read(tree, subject)`; no list.

Names of facts: `host.sysctl.<key>` is the kernel's value now and `host.boot.sysctl.<key>` what the next boot gives;
`host.data.*` and `host.log.*` are about the storage under the server's data and its log, `host.block.<device>.*` about
a block device, `host.server.*` about the server's first process. `host.now.*` was measured over a moment.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import dbdyno.hosts.audit
from dbdyno.hosts import activity, facts
from dbdyno.hosts.subject import Subject, find_pids
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


def read_facts(root: Path, subject: Subject, *, clock: Clock, seconds: float = 0.0) -> Iterator[Fact]:
    """All facts of the machine under `root`: those that a run records, and those of the audit. Raises nothing.

    What counts up is read twice, `seconds` apart and at least a moment (the reading itself counts), on the machine that
    we run on; of a copy the `host.now.*` facts say that they need two samples.
    """
    tree = Tree(root)
    if not subject.pids and subject.data_dir is not None:
        subject = replace(subject, pids=find_pids(tree, subject.data_dir))
    before, started_s = activity.read(tree), clock.monotonic()
    yield from facts.read_facts(root, folder=subject.data_dir, device=subject.device, pids=subject.pids)
    for read in readers().values():
        yield from read(tree, subject)
    if not tree.live:
        yield from activity.compare(before, before, 0.0)
        return
    clock.sleep(max(0.0, max(seconds, activity.MOMENT_S_MIN) - (clock.monotonic() - started_s)))
    yield from activity.compare(before, activity.read(tree), clock.monotonic() - started_s)
