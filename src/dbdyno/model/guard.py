"""The contract's table of settings, held against words: what a configuration breaks, and the level that it keeps.

Pure; used before a configuration is tried, after a server has started with it, and by the audit of a server as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from dbdyno.model.contract import Breach, Contract
from dbdyno.model.knob import Guard, Level, Value


def word(value: Value) -> str:
    """A value as the contract's table writes it."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def promises(contract: Contract) -> tuple[tuple[str, bool], ...]:
    """The contract's promises beside its level, and whether they must hold."""
    return (
        ("pitr", contract.pitr),
        ("replication", contract.replication),
        ("maintenance", contract.maintenance),
    )


def breaches_of(guard: Guard, value: str, contract: Contract) -> list[Breach]:
    """What one setting breaks."""
    breaches: list[Breach] = []
    level = guard.levels.get(value, guard.otherwise)
    if level < contract.level:
        good = [word for word, permitted in guard.levels.items() if permitted >= contract.level]
        needs = f"{' or '.join(good) or 'another value'} for {contract.level.name}"
        breaches.append(Breach(setting=guard.setting, value=value, needs=needs, why=guard.why))
    for promise, holds in promises(contract):
        wanted: tuple[str, ...] = getattr(guard, promise)
        if holds and wanted and not _among(value, wanted):
            needs = f"{_words(wanted)} for {promise}"
            breaches.append(Breach(setting=guard.setting, value=value, needs=needs, why=guard.why))
    return breaches


def breaches_of_all(settings: Mapping[str, str], guards: Iterable[Guard], contract: Contract) -> list[Breach]:
    """What a configuration breaks, by the server's own words. Settings that it does not have break nothing."""
    return [breach for guard, value in watched(settings, guards) for breach in breaches_of(guard, value, contract)]


def watched(settings: Mapping[str, str], guards: Iterable[Guard]) -> list[tuple[Guard, str]]:
    """The guards that look at this configuration, with the value that each finds."""
    return [
        (guard, settings[guard.setting]) for guard in guards if guard.setting in settings and not _moot(guard, settings)
    ]


def unseen(settings: Mapping[str, str], guards: Iterable[Guard]) -> list[str]:
    """Settings of the table that are not in this configuration: that is well only when all settings are known."""
    return [guard.setting for guard in guards if guard.setting not in settings and not _moot(guard, settings)]


def _moot(guard: Guard, settings: Mapping[str, str]) -> bool:
    """Whether other settings make a row mean nothing."""
    if settings.get(guard.instead):
        return True
    return any(settings.get(name) == value for name, value in guard.unless.items())


def level_of(settings: Mapping[str, str], guards: Iterable[Guard]) -> Level:
    """The highest level that every setting permits."""
    seen = (guard.levels.get(value, guard.otherwise) for guard, value in watched(settings, guards))
    return min(seen, default=Level.L3)


def lacking(settings: Mapping[str, str], guards: Iterable[Guard]) -> list[str]:
    """Promises beside the level that the configuration does not keep: `pitr`, `replication`, `maintenance`."""
    rows = list(guards)
    alone = Contract(level=Level.L0, pitr=False, replication=False, maintenance=False)
    return [
        promise
        for promise, _holds in promises(alone)
        if breaches_of_all(settings, rows, msgspec.structs.replace(alone, **{promise: True}))
    ]


def _words(wanted: tuple[str, ...]) -> str:
    """`on or always`; `anything but 0`."""
    permitted = [one for one in wanted if not one.startswith("!")]
    forbidden = [one[1:] or "(empty)" for one in wanted if one.startswith("!")]
    return " or ".join(permitted) or "anything but " + ", ".join(forbidden)


def _among(value: str, wanted: tuple[str, ...]) -> bool:
    forbidden = {one[1:] for one in wanted if one.startswith("!")}
    permitted = {one for one in wanted if not one.startswith("!")}
    return value not in forbidden and (not permitted or value in permitted)
