"""The contract's table on present settings: whatever breaks it never passes, and what is not seen is unknown."""

from __future__ import annotations

import pytest
from rule_tests import facts_of

from dbdyno.check.contract import guards_of, judge_contract, present_level
from dbdyno.engines.registry import engine_named, engines
from dbdyno.model.contract import Contract
from dbdyno.model.engine import Engine
from dbdyno.model.fact import Scalar
from dbdyno.model.finding import Verdict
from dbdyno.model.knob import Guard, Level

ENGINE = engine_named("postgresql")
VERSION = 150000


def safe_value(guard: Guard) -> str:
    """A word that keeps every promise of the row."""
    for word, level in guard.levels.items():
        if level is Level.L3 and all(not wants or word in wants for wants in (guard.maintenance,)):
            return word
    for wants in (guard.pitr, guard.replication, guard.maintenance):
        if wants and not wants[0].startswith("!"):
            return wants[0]
    return "something that is kept"


GUARDS = guards_of(ENGINE, facts_of({"server.version": VERSION}))
SAFE: dict[str, Scalar] = {
    "server.version": VERSION,
    "server.settings_complete": True,
    **{f"setting.{guard.setting}": safe_value(guard) for guard in GUARDS},
}


def verdicts(table: dict[str, Scalar], contract: Contract | None = None) -> set[Verdict]:
    return {one.verdict for one in judge_contract(ENGINE, facts_of(table), contract or Contract())}


def test_what_is_safe_passes() -> None:
    assert verdicts(SAFE) == {Verdict.PASS}
    assert present_level(ENGINE, facts_of(SAFE)) == (Level.L3, ())


def unsafe_values() -> list[tuple[str, str]]:
    rows = []
    for guard in GUARDS:
        rows += [(guard.setting, word) for word, level in guard.levels.items() if level < Level.L3]
        if guard.otherwise < Level.L3:
            rows.append((guard.setting, "a word that nobody knows"))
        rows += [
            (guard.setting, word[1:]) for wants in (guard.pitr, guard.replication) for word in wants if word[0] == "!"
        ]
    return rows


@pytest.mark.parametrize(("setting", "value"), unsafe_values())
def test_each_setting_of_the_table_never_passes(setting: str, value: str) -> None:
    found = judge_contract(ENGINE, facts_of({**SAFE, f"setting.{setting}": value}), Contract())
    assert any(one.verdict is Verdict.FAIL and setting in one.says for one in found)
    assert Verdict.PASS not in {one.verdict for one in found}


@pytest.mark.parametrize("guard", GUARDS, ids=lambda guard: guard.setting)
def test_what_is_not_seen_is_unknown(guard: Guard) -> None:
    table = {name: value for name, value in SAFE.items() if name != f"setting.{guard.setting}"}
    table["server.settings_complete"] = False
    assert Verdict.PASS not in verdicts(table)
    assert present_level(ENGINE, facts_of(table))[0] is None


def test_a_setting_that_a_complete_list_lacks_breaks_nothing() -> None:
    table = {name: value for name, value in SAFE.items() if name != "setting.ignore_invalid_pages"}
    assert verdicts(table) == {Verdict.PASS}


def test_nothing_known_is_unknown() -> None:
    assert verdicts({}) == {Verdict.UNKNOWN}
    assert verdicts({"server.version": VERSION, "server.settings_complete": True}) == {Verdict.UNKNOWN}


def test_a_weaker_contract_is_kept_knowingly() -> None:
    table = {**SAFE, "setting.synchronous_commit": "off"}
    assert verdicts(table) == {Verdict.FAIL}
    assert verdicts(table, Contract(level=Level.L2)) == {Verdict.PASS}
    assert present_level(ENGINE, facts_of(table))[0] is Level.L2


@pytest.mark.parametrize("engine", engines().values(), ids=lambda engine: engine.name)
def test_every_engine_is_unknown_without_settings(engine: Engine) -> None:
    found = judge_contract(engine, facts_of({}), Contract())
    assert {one.verdict for one in found} == {Verdict.UNKNOWN}
