"""The property of `convergence.py` is one that rules can break."""

from __future__ import annotations

import pytest
from convergence import require_convergence

from dbdyno.check.book import Entry
from dbdyno.model.fact import Fact
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Fix, Severity
from dbdyno.model.rule import Rule


def derive(facts: Facts) -> list[Fact]:
    return []


def wants(name: str, value: str, *, always: bool = False) -> Entry:
    """A rule that wants a setting to be so, and if `always` even when it is."""

    def check(facts: Facts) -> Finding | None:
        if facts.text(f"setting.{name}") == value and not always:
            return None
        return Finding(says="", severity=Severity.ADVICE, fixes=(Fix(kind="setting", name=name, value=value),))

    return Entry(Rule(id="T001", title="", check=check, source="", good={}, bad={}), {}, "site")


def test_rules_of_one_mind_converge() -> None:
    require_convergence(
        [wants("a", "1"), wants("a", "1"), wants("b", "2")], derive, {"setting.a": "0", "setting.b": "0"}
    )


@pytest.mark.parametrize(
    ("rules", "says"),
    [
        ([wants("a", "1"), wants("a", "2")], "different things"),
        ([wants("a", "1", always=True)], "wanted again"),
    ],
)
def test_others_do_not(rules: list[Entry], says: str) -> None:
    with pytest.raises(AssertionError, match=says):
        require_convergence(rules, derive, {"setting.a": "0"})
