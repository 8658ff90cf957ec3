"""Judging, the rule book, the choice of rules, the baseline: nothing unseen passes, and slips are said."""

from __future__ import annotations

from pathlib import Path

import pytest
from rule_tests import facts_of

from dbdyno.check.book import Entry, sections_of, site_rules, unique
from dbdyno.check.judge import judge
from dbdyno.check.select import (
    Accepted,
    Baseline,
    apply_baseline,
    at_least,
    baseline_of,
    baseline_text,
    choose,
    read_baseline,
)
from dbdyno.model.errors import UsageError
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity, Verdict
from dbdyno.model.rule import Rule

SITE_RULE = '''"""SITE001: The answer is wrong

What it checks: the answer.
Why it matters: because.
Remedy: 42.
Risk: none.
References: a book (1979).
"""
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule

ENGINE = {engine!r}


def check(facts):
    return None if facts.number("site.answer") == 42 else Finding(says="wrong")


RULE = Rule(id="SITE001", title="right", check=check, source="a book (1979)", good={{"site.answer": 42}},
            bad={{"site.answer": 41}})
'''


def entry(check: object, **more: object) -> Entry:
    rule = Rule(id="XX001", title="all is well", check=check, source="s (2020)", good={}, bad={}, **more)  # type: ignore[arg-type]
    return Entry(rule=rule, sections={"Risk": "some", "Remedy": "do", "Why it matters": "so"}, origin="test")


def test_a_missing_fact_is_unknown_with_its_reason() -> None:
    finding = judge(entry(lambda facts: facts.number("gone") and None), facts_of({}))
    assert finding
    assert finding.verdict is Verdict.UNKNOWN
    assert "gone: not observed" in finding.says


def test_a_rule_that_breaks_is_unknown_and_not_well() -> None:
    finding = judge(entry(lambda facts: 1 / 0), facts_of({}))
    assert finding
    assert finding.verdict is Verdict.UNKNOWN
    assert "ZeroDivisionError" in finding.says


def test_a_rule_about_something_else_says_nothing() -> None:
    assert judge(entry(lambda facts: None, applies=lambda facts: False), facts_of({})) is None


def test_a_condition_that_cannot_be_seen_is_unknown() -> None:
    finding = judge(entry(lambda facts: None, applies=lambda facts: facts.flag("gone")), facts_of({}))
    assert finding
    assert finding.verdict is Verdict.UNKNOWN


def test_a_finding_is_filled_from_the_rule_and_carries_its_evidence() -> None:
    def check(facts: Facts) -> Finding:
        return Finding(says=f"it is {facts.number('a'):.0f}")

    finding = judge(entry(check), facts_of({"a": 3, "b": 4}))
    assert finding
    assert finding.evidence == {"a": 3}
    assert (finding.rule, finding.risk, finding.remedy, finding.why) == ("XX001", "some", "do", "so")


def test_evidence_of_one_rule_is_not_that_of_the_next() -> None:
    facts = facts_of({"a": 1, "b": 2})
    judge(entry(lambda f: f.number("a") and None), facts)
    second = judge(entry(lambda f: Finding(says=str(f.number("b")))), facts)
    assert second
    assert set(second.evidence) == {"b"}


def test_site_rules_are_found_for_their_engine(tmp_path: Path) -> None:
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "site001.py").write_text(SITE_RULE.format(engine="one"))
    (tmp_path / "rules" / "_shared.py").write_text("raise SystemExit('not a rule')")
    found = site_rules(tmp_path, "one")
    assert [one.rule.id for one in found] == ["SITE001"]
    assert site_rules(tmp_path, "other") == []
    assert judge(found[0], facts_of({"site.answer": 41})).verdict is Verdict.FAIL  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("site001.py", "import nothing_of_that_name", "ModuleNotFoundError"),
        ("site001.py", "RULE = 3", "there is no `RULE"),
        ("site002.py", SITE_RULE.format(engine="one"), "site001.py"),
        ("site001.py", SITE_RULE.format(engine="one").replace("Risk: none.", ""), "lacks Risk"),
        ("site001.py", SITE_RULE.format(engine="one").replace('id="SITE001"', 'id="site-1"'), "not of the form"),
        ("site001.py", "this is no Python", "SyntaxError"),
    ],
)
def test_a_site_rule_that_is_wrong_is_one_clear_message(tmp_path: Path, name: str, text: str, words: str) -> None:
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / name).write_text(text)
    with pytest.raises(UsageError) as error:
        site_rules(tmp_path, "one")
    assert words in str(error.value)
    assert name in str(error.value)


def test_two_rules_of_one_name_are_refused() -> None:
    one = entry(lambda facts: None)
    with pytest.raises(UsageError, match="XX001"):
        unique([one, Entry(rule=one.rule, sections={}, origin="site")])


def test_sections_are_joined_to_lines() -> None:
    text = "X1: a\n\nWhat it checks: one\n  two.\n\nRisk: none\n"
    assert sections_of(text) == {"What it checks": "one two.", "Risk": "none"}


def test_choosing_rules() -> None:
    memory = entry(lambda facts: None, topic="memory")
    assert choose([memory], ["XX*"], []) == [memory]
    assert choose([memory], ["memory"], []) == [memory]
    assert choose([memory], [], ["xx001"]) == []
    assert choose([memory], [], []) == [memory]
    with pytest.raises(UsageError, match="names no rule"):
        choose([memory], ["XX00l"], [])
    with pytest.raises(UsageError, match="names no rule"):
        choose([memory], [], ["memry"])


def finding(rule: str, severity: Severity, verdict: Verdict = Verdict.FAIL) -> Finding:
    return Finding(rule=rule, says="x", severity=severity, verdict=verdict)


def test_severity_never_hides_what_is_unknown() -> None:
    advice = finding("A", Severity.ADVICE)
    unknown = finding("B", Severity.ADVICE, Verdict.UNKNOWN)
    assert at_least([advice, unknown], Severity.WARNING) == [unknown]


def test_the_baseline_accepts_what_was_seen_and_nothing_worse(tmp_path: Path) -> None:
    old = finding("A", Severity.WARNING)
    path = tmp_path / "baseline.json"
    path.write_bytes(baseline_text(baseline_of([old, finding("C", Severity.ADVICE, Verdict.PASS)])))
    baseline = read_baseline(path)
    assert [one.rule for one in baseline.accepted] == ["A"]
    assert apply_baseline([old], baseline) == ([], ("A",))
    worse = finding("A", Severity.CRITICAL)
    assert apply_baseline([worse], baseline) == ([worse], ())


def test_the_baseline_never_accepts_a_breach_of_the_contract() -> None:
    breach = finding("CONTRACT", Severity.CRITICAL)
    assert baseline_of([breach]).accepted == ()
    by_hand = Baseline(accepted=(Accepted(rule="CONTRACT", severity=Severity.CRITICAL),))
    assert apply_baseline([breach], by_hand) == ([breach], ())


@pytest.mark.parametrize("text", ["", "{", "[]", '{"accepted": [{"rule": 3}]}', '{"format": 99}'])
def test_a_baseline_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "baseline.json"
    path.write_text(text)
    with pytest.raises(UsageError, match="baseline"):
        read_baseline(path)
