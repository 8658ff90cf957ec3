"""The size of the machine as the formulas need it, from the facts of an audit; and a whole configuration for it."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from dbdyno.check.result import Generated
from dbdyno.model.engine import Advised, Checkable
from dbdyno.model.errors import UsageError
from dbdyno.model.facts import Facts, MissingFact
from dbdyno.model.knob import Assignment, KnobSpace, Value
from dbdyno.model.machine import DiskClass, Machine


def machine_of(facts: Facts) -> Machine:
    """What this server may use. Raises `MissingFact` when the memory is not known."""
    cores = int(facts.number("host.cores"))
    if facts.has("host.cgroup_cores") and isinstance(quota := facts.value("host.cgroup_cores"), int | float):
        cores = max(1, min(cores, int(quota)))
    rotates = facts.has("host.disk_rotational") and facts.flag("host.disk_rotational")
    dataset = facts.number("server.cluster_bytes") if facts.has("server.cluster_bytes") else 0.0
    return Machine(
        memory_bytes=int(facts.number("server.memory_limit_bytes")),
        cores=cores,
        disk=DiskClass.HDD if rotates else DiskClass.SSD,
        dataset_bytes=int(dataset) or None,
        connections=int(facts.number("server.connections_max")) if facts.has("server.connections_max") else 100,
    )


def _built(facts: Facts, space: KnobSpace, name: str, value: Value) -> Value:
    """The value, or the nearest choice before it that this very build knows."""
    knob, words = space.knob(name), facts.find(f"choices.{name}")
    if words is None or not isinstance(value, str) or value in (accepted := str(words.value).split(",")):
        return value
    before = knob.choices[: knob.choices.index(value)] if knob and value in knob.choices else ()
    return next((choice for choice in reversed(before) if choice in accepted), knob.default if knob else value)


def generate(engine: Checkable, facts: Facts, changes: Mapping[str, object]) -> Generated:
    """The first of the engine's advices as text, with the reason in front of each line.

    `changes` replaces fields of the machine, and `version` the server's, as given on the command line. Raises
    `UsageError` when the memory or the version is neither known nor given.
    """
    if not isinstance(engine, Advised):
        raise UsageError(f"There is no formula for {engine.name} yet.")
    fields = {name: value for name, value in changes.items() if value is not None and name != "version"}
    try:
        version = int(str(changes.get("version") or int(facts.number("server.version"))))
        if {"memory_bytes", "cores"} <= set(fields):
            machine = msgspec.convert({"disk": DiskClass.SSD, **fields}, Machine)
        else:
            machine = msgspec.convert({**msgspec.structs.asdict(machine_of(facts)), **fields}, Machine)
    except MissingFact as missing:
        raise UsageError(
            "A configuration cannot be made without knowing the machine and the version.",
            found=str(missing),
            todo="give --host, or --memory and --cores",
        ) from None
    advice = next(iter(engine.advice(machine, version)), None)
    if advice is None:
        raise UsageError(f"There is no formula for {engine.name} yet.")
    space = engine.knobs(machine, version)
    promised: Assignment = {}
    reasons = dict(advice.reasons)
    for promise in ("replication", "maintenance"):
        for name, value in space.needs.get(promise, {}).items():
            promised[name] = value
            reasons[name] = f"the contract's promise: {promise}"
    assignment = {name: _built(facts, space, name, value) for name, value in {**promised, **advice.assignment}.items()}
    lines = [
        f"# For {version}: {machine.memory_bytes / 2**30:.1f} GiB of memory, {machine.cores} cores, "
        f"{machine.disk} disk, {machine.connections} connections, workload {machine.workload}.",
        f"# Formula: {advice.source or advice.title}. Nothing here weakens durability.",
    ]
    for name, value in assignment.items():
        lines += ["", f"# {reasons.get(name, advice.title)}", engine.render({name: value})[0].rstrip("\n")]
    return Generated(
        title=advice.title, source=advice.source, text="\n".join(lines) + "\n", assignment=assignment, reasons=reasons
    )
