"""The size of the machine as the formulas need it, from the facts of an audit; and a whole configuration for it."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from dbdyno.check.book import engine_module
from dbdyno.check.result import Generated
from dbdyno.engines.registry import checkable_named
from dbdyno.model.engine import Advised, Checkable
from dbdyno.model.errors import UsageError
from dbdyno.model.facts import Facts, MissingFact
from dbdyno.model.knob import Assignment, KnobSpace, Value
from dbdyno.model.machine import DiskClass, Machine

_FORMULA_WORDS = {"workload": {"read-mostly": "web", "bulk": "dw"}, "disk": {"nvme": "ssd"}}
"""What formulas call what the command line calls otherwise. They do not tell an NVMe disk from an SSD; `iops` does."""


def generate_for(text: str, changes: Mapping[str, object]) -> Generated:
    """A configuration for `PRODUCT[:VERSION]` on a machine that is given whole, without any server. Raises `UsageError`
    for what is not known or not given."""
    name, _, version = text.partition(":")
    engine = checkable_named(name)
    product = engine.schemes[0].partition("+")[0]
    module = engine_module(engine.name, "starting")
    if module is None:
        raise UsageError(f"There is no formula for {name} yet.")
    if not version:
        usual = module.VERSION_DEFAULT
        version = usual if isinstance(usual, str) else usual[product]
    number, words = module.version_of(version, product)
    if missing := [
        option for option, field in (("--ram", "memory_bytes"), ("--cores", "cores")) if not changes.get(field)
    ]:
        raise UsageError(
            f"A configuration for {words} needs to know the machine.",
            found="not given: " + ", ".join(missing),
            todo="for example --ram 16G --cores 8 --disk ssd --connections 200 --workload oltp",
        )
    return generate(engine, Facts(()), {**changes, "version": number}, words=words)


def _added(
    engine: Advised, machine: Machine, version: int, chosen: Assignment, *, unseen: bool
) -> dict[str, tuple[Value, str]]:
    """What the engine adds to its formula so that the configuration is a whole one, with reasons. `unseen`: nobody has
    asked the build for the words that it knows, so that only those stand there which every build does."""
    module = engine_module(engine.name, "starting")
    if module is None or not hasattr(module, "settings"):
        return {}
    added = dict(module.settings(machine, version, chosen))
    return {**added, **getattr(module, "IN_EVERY_BUILD", {})} if unseen else added


def _body(engine: Advised, assignment: Assignment, reasons: Mapping[str, str]) -> list[str]:
    """Each setting below its reason, as the server's file takes it."""
    module = engine_module(engine.name, "starting")
    if module is not None and hasattr(module, "lines_of"):
        return list(module.lines_of(assignment, reasons))
    lines = list(getattr(module, "HEAD", ()))
    for name, value in assignment.items():
        lines += ["", f"# {reasons[name]}", engine.render({name: value})[0].rstrip("\n")]
    return lines


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


def generate(engine: Checkable, facts: Facts, changes: Mapping[str, object], *, words: str = "") -> Generated:
    """The first of the engine's advices as text, with the reason in front of each line.

    `words` name the version where nobody runs it. `changes` replaces fields of the machine, and `version` the
    server's, as given on the command line. Raises `UsageError` when the memory or the version is neither known nor
    given.
    """
    if not isinstance(engine, Advised):
        raise UsageError(f"There is no formula for {engine.name} yet.")
    given = {name: value for name, value in changes.items() if value is not None and name != "version"}
    fields = {name: _FORMULA_WORDS.get(name, {}).get(str(value), value) for name, value in given.items()}
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
    chosen = {**promised, **advice.assignment}
    added = _added(engine, machine, version, chosen, unseen=bool(words))
    reasons |= {name: why for name, (_value, why) in added.items()}
    chosen |= {name: value for name, (value, _why) in added.items()}
    assignment = {name: _built(facts, space, name, value) for name, value in chosen.items()}
    head = [
        f"# For {words or version}: {machine.memory_bytes / 2**30:.1f} GiB of memory, {machine.cores} cores, "
        f"{given.get('disk', machine.disk)} disk, {machine.connections} connections, "
        f"workload {given.get('workload', machine.workload)}.",
        f"# Formula: {advice.source or advice.title}. Nothing here weakens durability.",
    ]
    lines = head + _body(engine, assignment, {**dict.fromkeys(assignment, advice.title), **reasons})
    return Generated(
        title=advice.title, source=advice.source, text="\n".join(lines) + "\n", assignment=assignment, reasons=reasons
    )
