"""Holds a configuration against the contract: before it is tried, and after the server has said what it runs with.

Three layers keep the contract (see the design): this table, the read-back of effective settings after each start, and
the power-loss proof of the winner, which is not made here. All functions are pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from dbdyno.model.contract import Breach, Contract
from dbdyno.model.guard import breaches_of, breaches_of_all, promises, word
from dbdyno.model.knob import Assignment, Change, Knob, KnobSpace, Setting, Value
from dbdyno.model.machine import Machine

MEMORY_PART_MAX = 0.8
"""Of the machine's memory, when the contract names no bound."""


def needed(space: KnobSpace, contract: Contract) -> Assignment:
    """What has to be set beside any assignment so that the contract's promises hold."""
    wanted: Assignment = dict(space.needs.get(contract.level.name, {}))
    for promise, holds in promises(contract):
        if holds:
            wanted.update(space.needs.get(promise, {}))
    return wanted


def judge(assignment: Assignment, space: KnobSpace, contract: Contract, machine: Machine) -> list[Breach]:
    """What an assignment would break. Empty: it may be tried."""
    breaches: list[Breach] = []
    guards = {guard.setting: guard for guard in space.guards}
    for name, value in assignment.items():
        if name in guards:
            breaches += breaches_of(guards[name], word(value), contract)
        elif space.knob(name) is None:
            breaches.append(
                Breach(
                    setting=name,
                    value=word(value),
                    needs="a setting of the knob file or the contract's table",
                    why="what it does to durability is not known here",
                )
            )
    breaches += _memory(assignment, space, contract, machine)
    breaches += _recovery(assignment, space, contract)
    return breaches


def judge_effective(settings: Mapping[str, Setting], space: KnobSpace, contract: Contract) -> list[Breach]:
    """What the running server breaks, by its own words. Settings that it does not have break nothing."""
    return breaches_of_all({name: setting.value for name, setting in settings.items()}, space.guards, contract)


def memory_bytes(assignment: Assignment, space: KnobSpace) -> float:
    """Memory that the server plans for: what each knob takes, at its default where it is not assigned."""
    return sum(_number(assignment, knob) * knob.memory_bytes_per_unit for knob in space.knobs)


DEFAULT_ROOM = 1.1
"""Times what the defaults plan for: what a default leaves to the server takes memory too once it has a number."""


def memory_bytes_max(space: KnobSpace, contract: Contract, machine: Machine) -> float:
    """What the contract says, else a part of the machine's memory. What the server plans for by default is no breach of
    an assignment's, even where a small machine has less."""
    if contract.memory_bytes_max:
        return float(contract.memory_bytes_max)
    return max(machine.memory_bytes * MEMORY_PART_MAX, DEFAULT_ROOM * memory_bytes({}, space))


def recovery_s(assignment: Assignment, space: KnobSpace) -> float | None:
    """Estimated longest recovery after a crash, in seconds; None when nothing is known.

    Volume over the assumed speed of replay, and time between checkpoints, whichever ends sooner: a checkpoint comes
    when either is reached.
    """
    bounds: list[float] = []
    if space.recovery_bytes_per_s:
        volume = sum(_number(assignment, knob) * knob.recovery_bytes_per_unit for knob in space.knobs)
        bounds += [volume / space.recovery_bytes_per_s] if volume else []
    time = sum(_number(assignment, knob) * knob.recovery_s_per_unit for knob in space.knobs)
    bounds += [time] if time else []
    return min(bounds) if bounds else None


def narrow(space: KnobSpace, contract: Contract, machine: Machine) -> KnobSpace:
    """The space with upper ends that no knob may pass even if all others stood at their defaults."""
    room = memory_bytes_max(space, contract, machine) - memory_bytes({}, space)
    knobs = []
    for knob in space.knobs:
        high = knob.high
        if high is not None:
            if knob.memory_bytes_per_unit:
                high = min(high, _number({}, knob) + room / knob.memory_bytes_per_unit)
            if knob.recovery_bytes_per_unit and space.recovery_bytes_per_s:
                high = min(high, contract.recovery_s_max * space.recovery_bytes_per_s / knob.recovery_bytes_per_unit)
            if knob.recovery_s_per_unit:
                high = min(high, contract.recovery_s_max / knob.recovery_s_per_unit)
            if knob.integer:
                high = float(int(high))
            high = max(high, knob.low or 0.0)
        knobs.append(msgspec.structs.replace(knob, high=high))
    return msgspec.structs.replace(space, knobs=tuple(knobs))


def fit_to_server(space: KnobSpace, settings: Mapping[str, Setting], *, restart: bool = True) -> KnobSpace:
    """The space as this very build has it: settings that exist, words that it accepts.

    `restart` False leaves out of the search what only a restart would change.
    """
    knobs = []
    for known in space.knobs:
        knob, setting = known, settings.get(known.name)
        if setting is None:
            continue
        if knob.choices and setting.choices:
            accepted = tuple(choice for choice in knob.choices if choice in setting.choices)
            knob = msgspec.structs.replace(knob, choices=accepted)
        if knob.change is not Change.ONLINE and not restart:
            knob = msgspec.structs.replace(knob, searched=False)
        knobs.append(knob)
    return msgspec.structs.replace(space, knobs=tuple(knobs))


def as_found(space: KnobSpace, settings: Mapping[str, Setting]) -> KnobSpace:
    """The space with the server's present values as defaults, for a server that its owner has configured."""
    knobs = []
    for knob in space.knobs:
        value: Value = settings[knob.name].value if knob.name in settings else knob.default
        if not knob.choices and isinstance(value, str):
            try:
                value = int(value) if knob.integer else float(value)
            except ValueError:
                value = knob.default
        knobs.append(msgspec.structs.replace(knob, default=value))
    return msgspec.structs.replace(space, knobs=tuple(knobs))


def fit_assignment(assignment: Assignment, space: KnobSpace, *, restart: bool = True) -> tuple[Assignment, list[str]]:
    """Leaves out what this server does not have or accept (an advice knows the version, not the build), and, where
    it cannot be restarted, what only a restart would change.

    Returns what is left, and one sentence for each setting that was left out.
    """
    kept: Assignment = {}
    left_out: list[str] = []
    for name, value in assignment.items():
        knob = space.knob(name)
        if knob is None:
            left_out.append(f"{name} is left out: this server does not have it")
        elif knob.change is not Change.ONLINE and not restart:
            left_out.append(f"{name} is left out: it needs a restart, and none is allowed here")
        elif knob.choices and str(value) not in knob.choices and value not in knob.special:
            left_out.append(f"{name} = {value} is left out: this build accepts {', '.join(knob.choices)}")
        else:
            kept[name] = value
    return kept, left_out


def repair(assignment: Assignment, space: KnobSpace, contract: Contract, machine: Machine) -> Assignment:
    """The nearest assignment that keeps the sums of the contract: what takes most is lowered first."""
    repaired = dict(assignment)
    excess = memory_bytes(repaired, space) - memory_bytes_max(space, contract, machine)
    for knob in sorted(space.knobs, key=lambda k: -_number(repaired, k) * k.memory_bytes_per_unit):
        if excess <= 0:
            break
        value = repaired.get(knob.name)
        if not isinstance(value, int | float) or value in knob.special or not knob.memory_bytes_per_unit:
            continue
        lowered = _within(knob, value - excess / knob.memory_bytes_per_unit - 1)
        excess -= (value - lowered) * knob.memory_bytes_per_unit
        repaired[knob.name] = lowered
    estimate = recovery_s(repaired, space)
    if estimate is not None and estimate > contract.recovery_s_max:
        for knob in space.knobs:
            value = repaired.get(knob.name)
            if isinstance(value, int | float) and value not in knob.special and knob.recovery_bytes_per_unit:
                repaired[knob.name] = _within(knob, value * contract.recovery_s_max / estimate)
    return repaired


def say(breaches: Iterable[Breach]) -> str:
    """All breaches in one line."""
    return "; ".join(
        f"{b.setting} = {b.value}, the contract needs {b.needs}" + (f" ({b.why})" if b.why else "") for b in breaches
    )


def _memory(assignment: Assignment, space: KnobSpace, contract: Contract, machine: Machine) -> list[Breach]:
    planned, most = memory_bytes(assignment, space), memory_bytes_max(space, contract, machine)
    if planned <= most:
        return []
    takers = sorted(space.knobs, key=lambda knob: -_number(assignment, knob) * knob.memory_bytes_per_unit)
    return [
        Breach(
            setting=takers[0].name,
            value=word(assignment.get(takers[0].name, takers[0].default)),
            needs=f"at most {most / 2**30:.1f} GiB of planned memory",
            why=f"all settings together plan for {planned / 2**30:.1f} GiB",
        )
    ]


def _recovery(assignment: Assignment, space: KnobSpace, contract: Contract) -> list[Breach]:
    estimate = recovery_s(assignment, space)
    if estimate is None or estimate <= contract.recovery_s_max:
        return []
    knob = next(knob for knob in space.knobs if knob.recovery_bytes_per_unit or knob.recovery_s_per_unit)
    return [
        Breach(
            setting=knob.name,
            value=word(assignment.get(knob.name, knob.default)),
            needs=f"recovery within {contract.recovery_s_max:g} s",
            why=f"estimated {estimate:.0f} s",
        )
    ]


def _number(assignment: Assignment, knob: Knob) -> float:
    """The knob's number, 0 for words and for special values (which switch a mechanism off or let the server choose)."""
    value = assignment.get(knob.name, knob.default)
    return float(value) if isinstance(value, int | float) and value not in knob.special else 0.0


def _within(knob: Knob, value: float) -> int | float:
    low = knob.low if knob.low is not None else value
    bounded = max(low, min(value, knob.high if knob.high is not None else value))
    return int(bounded) if knob.integer else bounded
