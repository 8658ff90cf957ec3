"""Every rule keeps the promises of a rule. New files are found by being there."""

from __future__ import annotations

import pytest
from rule_tests import examples_hold, nothing_seen_is_never_well, remedy_heals

from dbdyno.check.book import Entry, engine_rules, engines_with, host_rules, unique

ENGINES = engines_with("rules")
ENTRIES = host_rules() + [entry for engine in ENGINES for entry in engine_rules(engine) if entry.origin == engine]
every_rule = pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: f"{entry.origin}-{entry.rule.id}")


def test_ids_are_unique() -> None:
    assert len(unique(ENTRIES)) == len(ENTRIES) > 0


@every_rule
def test_good_passes_and_bad_fails(entry: Entry) -> None:
    examples_hold(entry)


@every_rule
def test_a_missing_fact_is_unknown(entry: Entry) -> None:
    nothing_seen_is_never_well(entry)


@every_rule
def test_its_own_remedy_heals(entry: Entry) -> None:
    remedy_heals(entry)


@every_rule
def test_the_source_has_a_year(entry: Entry) -> None:
    assert any(word[:4].isdigit() for word in entry.rule.source.replace("(", " ").replace(")", " ").split())
