"""The present configuration against the durability contract: each row of the engine's table that is broken or unseen is
a finding, and nothing that is not seen passes."""

from __future__ import annotations

from dbdyno.model.contract import Breach, Contract
from dbdyno.model.engine import Checkable, Guarded
from dbdyno.model.fact import Scalar
from dbdyno.model.facts import Facts, MissingFact
from dbdyno.model.finding import Finding, Severity, Verdict
from dbdyno.model.guard import breaches_of_all, lacking, level_of, unseen
from dbdyno.model.knob import Guard, Level
from dbdyno.model.machine import DiskClass, Machine

RULE = "CONTRACT"
SOURCE = "the engine's table of guarded settings (knobs.toml), with its sources; the design's contract levels (2026)"
_MEANING = {
    Level.L3: "every acknowledged transaction survives a loss of power",
    Level.L2: "a bounded tail of acknowledged transactions may be lost by a loss of power; nothing is torn",
    Level.L1: "safe against a crash of the process only",
    Level.L0: "a loss of power can corrupt the data",
}
_SIZE_DOES_NOT_MATTER = Machine(memory_bytes=1 << 34, cores=4, disk=DiskClass.SSD)
"""The table of guards is the same on every machine."""


def settings_of(facts: Facts) -> dict[str, str]:
    """All settings that were observed, in the server's words."""
    return {
        fact.name.removeprefix("setting."): _word(fact.value)
        for fact in facts
        if fact.name.startswith("setting.") and not fact.unknown
    }


def guards_of(engine: Checkable, facts: Facts) -> tuple[Guard, ...]:
    """The engine's table for the version that was observed. Raises `MissingFact` without one, and for an engine that
    has no such table."""
    if not isinstance(engine, Guarded):
        raise MissingFact("settings", f"no setting of {engine.name} promises that something is kept")
    return engine.knobs(_SIZE_DOES_NOT_MATTER, int(facts.number("server.version"))).guards


def present_level(engine: Checkable, facts: Facts) -> tuple[Level | None, tuple[str, ...]]:
    """The highest level that the present settings permit, and the promises that they do not keep; None where a part of
    the table was not seen."""
    try:
        guards = guards_of(engine, facts)
    except MissingFact:
        return None, ()
    settings = settings_of(facts)
    level = level_of(settings, guards)
    if level > Level.L0 and _blind(facts, settings, guards):
        return None, ()
    return level, tuple(lacking(settings, guards))


def judge_contract(engine: Checkable, facts: Facts, contract: Contract) -> list[Finding]:
    """One finding for each setting that breaks the contract or was not seen, or one that says that it holds."""
    try:
        guards = guards_of(engine, facts)
    except MissingFact as missing:
        return [_unknown(f"no table of guarded settings for this server ({missing.reason})", contract)]
    settings = settings_of(facts)
    findings = [_broken(breach, contract) for breach in breaches_of_all(settings, guards, contract)]
    findings += [
        _unknown(f"{name} was not seen, and the contract depends on it", contract)
        for name in _blind(facts, settings, guards)
    ]
    if findings:
        return findings
    return [
        Finding(
            rule=RULE,
            title=f"The settings keep the contract at {contract.level.name}",
            verdict=Verdict.PASS,
            says=f"The settings permit {contract.level.name}: {_MEANING[contract.level]} (settings only, no proof).",
            source=SOURCE,
        )
    ]


def _blind(facts: Facts, settings: dict[str, str], guards: tuple[Guard, ...]) -> list[str]:
    """Settings of the table that are absent although they may exist."""
    complete = facts.find("server.settings_complete")
    if settings and complete is not None and not complete.unknown and complete.value is True:
        return []
    return unseen(settings, guards)


def _broken(breach: Breach, contract: Contract) -> Finding:
    return Finding(
        rule=RULE,
        title=f"{breach.setting} keeps the contract at {contract.level.name}",
        severity=Severity.CRITICAL,
        says=f"{breach.setting} = {breach.value or '(empty)'}; the contract needs {breach.needs}.",
        why=breach.why,
        evidence={f"setting.{breach.setting}": breach.value},
        remedy=f"Set {breach.setting} to what the contract needs, or choose a weaker contract knowingly.",
        risk="Slower commits, where speed was bought with safety.",
        durability=contract.level,
        verify=f"dyno check TARGET --contract {contract.level.name} --only {RULE}",
        source=SOURCE,
    )


def _unknown(why: str, contract: Contract) -> Finding:
    return Finding(
        rule=RULE,
        title=f"The settings keep the contract at {contract.level.name}",
        verdict=Verdict.UNKNOWN,
        says=f"cannot be seen: {why}",
        source=SOURCE,
    )


def _word(value: Scalar) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return "" if value is None else str(value)
