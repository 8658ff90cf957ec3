"""The contract's table of every engine: whatever it forbids is refused at L3, has an ordinary rule besides, and is what
other tuners are known to give away. A new row is tested by being there."""

from __future__ import annotations

import functools
import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest
from rule_tests import facts_of

from dbdyno.check.book import engine_rules
from dbdyno.check.contract import guards_of, judge_contract
from dbdyno.check.judge import judge
from dbdyno.engines.registry import checkables
from dbdyno.model.contract import Contract
from dbdyno.model.engine import Guarded
from dbdyno.model.fact import Scalar
from dbdyno.model.finding import Verdict
from dbdyno.model.guard import breaches_of
from dbdyno.model.knob import Guard, Level

VERSIONS = {
    "postgresql": (130000, 160000, 180000), "innodb": (50744, 80036, 80400, 1100611, 1110405),
    "myrocks": (80036, 1101119), "valkey": (60200, 80000), "wiredtiger": (40400, 80000),
}  # fmt: skip
WORDS = ("off", "OFF", "0", "on", "ON", "2", "3", "none", "no", "yes", "false", "true", "1", "nosync", "replica", "LZ4",
         "allkeys-lru", "inMemory", "O_DIRECT_NO_FSYNC", "something that nobody knows")  # fmt: skip
"""Words of servers, from which those are taken that a row does not permit."""
WITHOUT_RULE = {"storage.engine"}
"""A server on another storage engine is another kind of server; only the contract speaks of it."""


class Case(NamedTuple):
    engine: str
    version: int
    guard: Guard
    value: str


@functools.cache
def guards(engine: str, version: int) -> tuple[Guard, ...]:
    return guards_of(checkables()[engine], facts_of({"server.version": version}))


@functools.cache
def contract_of(engine: str, version: int) -> Contract:
    """The whole contract, or where a version cannot promise a moment at all (Redis 6.2) all but that."""
    whole = Contract()
    settings = {row.setting for row in guards(engine, version)}
    can = all(safe_words(engine, version, setting, whole) for setting in settings)
    return whole if can else Contract(pitr=False)


def safe_words(engine: str, version: int, setting: str, contract: Contract) -> list[str]:
    """Words with which none of the setting's rows is broken."""
    rows = [row for row in guards(engine, version) if row.setting == setting]
    named = [word for row in rows for word in (*row.levels, *row.pitr, *row.replication, *row.maintenance)]
    words = [word for word in (*named, *WORDS) if not word.startswith("!")]
    return [word for word in words if not any(breaches_of(row, word, contract) for row in rows)]


def safe(engine: str, version: int, unlike: dict[str, str]) -> dict[str, Scalar]:
    """A configuration that breaks nothing, and in which the settings of `unlike` have other values than there."""
    table: dict[str, Scalar] = {"server.version": version, "server.settings_complete": True}
    contract = contract_of(engine, version)
    for row in guards(engine, version):
        words = [word for word in safe_words(engine, version, row.setting, contract) if word != unlike.get(row.setting)]
        table[f"setting.{row.setting}"] = words[0]
    return table


def unsafe_words(guard: Guard) -> list[str]:
    """One word of each kind that the row forbids at L3."""
    alone = Contract(pitr=False, replication=False, maintenance=False)
    named = [word for word, level in guard.levels.items() if level < Level.L3]
    others = [word for word in WORDS if word not in guard.levels and breaches_of(guard, word, alone)]
    return named + others[-1:]


CASES = [
    Case(engine, version, guard, value)
    for engine, versions in VERSIONS.items()
    for version in versions
    for guard in guards(engine, version)
    for value in unsafe_words(guard)
]


def test_every_engine_with_a_table_is_tested() -> None:
    assert {name for name, engine in checkables().items() if isinstance(engine, Guarded)} == set(VERSIONS)
    assert {case.engine for case in CASES} == set(VERSIONS)


@pytest.mark.parametrize("engine", VERSIONS)
def test_what_is_safe_passes(engine: str) -> None:
    """The negative control: without the planted word the same configuration is let through."""
    for version in VERSIONS[engine]:
        found = judge_contract(checkables()[engine], facts_of(safe(engine, version, {})), contract_of(engine, version))
        assert {one.verdict for one in found} == {Verdict.PASS}, [one.says for one in found]


@pytest.mark.parametrize(
    "case", CASES, ids=lambda case: f"{case.engine}-{case.version}-{case.guard.setting}-{case.value}"
)
def test_each_forbidden_value_is_refused(case: Case) -> None:
    table = safe(case.engine, case.version, case.guard.unless)
    table[f"setting.{case.guard.setting}"] = case.value
    found = judge_contract(checkables()[case.engine], facts_of(table), contract_of(case.engine, case.version))
    broken = [one for one in found if one.verdict is Verdict.FAIL]
    assert any(case.guard.setting in one.says for one in broken)
    assert Verdict.PASS not in {one.verdict for one in found}


@pytest.mark.parametrize(
    ("engine", "setting"),
    sorted({(case.engine, case.guard.setting) for case in CASES if case.guard.setting not in WITHOUT_RULE}),
)
def test_what_the_contract_forbids_has_a_rule_besides(engine: str, setting: str) -> None:
    """Who does not ask for a contract hears of it too: some rule that is content with its good example is not with it
    and a forbidden word."""
    rows = [row for version in VERSIONS[engine] for row in guards(engine, version) if row.setting == setting]
    forbidden = {word for row in rows for word in WORDS if breaches_of(row, word, Contract())}
    forbidden |= {word for row in rows for word, level in row.levels.items() if level < Level.L3}
    for entry in engine_rules(engine):
        for word in forbidden:
            finding = judge(entry, facts_of({**entry.rule.good, f"setting.{setting}": word}))
            if finding is not None and finding.verdict is Verdict.FAIL:
                return
    pytest.fail(f"no rule of {engine} speaks of {setting}, and the contract forbids {sorted(forbidden)}")


ADVICE = tomllib.loads((Path(__file__).parent / "weakening_advice.toml").read_text())["advice"]


@pytest.mark.parametrize("advice", ADVICE, ids=lambda one: f"{one['tuner']}-{one['engine']}")
def test_what_other_tuners_give_away_is_refused(advice: dict[str, object]) -> None:
    engine, settings = str(advice["engine"]), advice["set"]
    assert isinstance(settings, dict)
    for version in VERSIONS[engine]:
        known = {row.setting for row in guards(engine, version)}
        for name, value in settings.items():
            assert name in known, f"{name} is not in the table of {engine}"
            table = {**safe(engine, version, {}), f"setting.{name}": str(value)}
            found = judge_contract(checkables()[engine], facts_of(table), Contract())
            assert any(one.verdict is Verdict.FAIL and name in one.says for one in found), (name, value)


def test_a_row_without_a_rule_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: without the rule that speaks of it."""
    rules = [entry for entry in engine_rules("postgresql") if entry.rule.id != "PG001"]
    monkeypatch.setattr(f"{__name__}.engine_rules", lambda _: rules)
    with pytest.raises(pytest.fail.Exception, match="fsync"):
        test_what_the_contract_forbids_has_a_rule_besides("postgresql", "fsync")
