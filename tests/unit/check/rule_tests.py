"""What every rule must do, whatever it is about: `test_rules.py` runs this over all rules that there are."""

from __future__ import annotations

from dbdyno.check.book import Entry
from dbdyno.check.judge import judge
from dbdyno.model.fact import Fact, Scalar
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Verdict
from dbdyno.model.rule import FactTable


def facts_of(table: FactTable) -> Facts:
    return Facts(Fact(name=name, value=value, source="test") for name, value in table.items())


def verdict(entry: Entry, table: FactTable) -> Verdict | None:
    finding = judge(entry, facts_of(table))
    return finding.verdict if finding else None


def examples_hold(entry: Entry) -> None:
    good = judge(entry, facts_of(entry.rule.good))
    bad = judge(entry, facts_of(entry.rule.bad))
    assert good, "the rule does not apply to its good example"
    assert bad, "the rule does not apply to its bad example"
    assert good.verdict is Verdict.PASS, f"the good example: {good}"
    assert bad.verdict is Verdict.FAIL, f"the bad example: {bad}"
    for field in ("says", "why", "remedy", "risk", "source", "verify", "evidence"):
        assert getattr(bad, field), f"the finding has no {field}"


def nothing_seen_is_never_well(entry: Entry) -> None:
    """Each fact of the good example is needed: without it the verdict is unknown, whatever the others say."""
    for missing in entry.rule.good:
        table = {name: value for name, value in entry.rule.good.items() if name != missing}
        assert verdict(entry, table) is Verdict.UNKNOWN, f"without {missing}: {verdict(entry, table)}"
    for missing in entry.rule.bad:
        table = {name: value for name, value in entry.rule.bad.items() if name != missing}
        assert verdict(entry, table) in (Verdict.UNKNOWN, Verdict.FAIL), f"without {missing}: {verdict(entry, table)}"


def remedy_heals(entry: Entry) -> None:
    """All fixes whose effect on a fact is known, applied to the bad example, make it pass."""
    finding = judge(entry, facts_of(entry.rule.bad))
    assert finding is not None
    healed = after(finding, entry.rule.bad)
    if healed is not None:
        again = judge(entry, facts_of(healed))
        assert again is None or again.verdict is not Verdict.FAIL, f"after its own remedy: {again}"


def after(finding: Finding, table: FactTable) -> dict[str, Scalar] | None:
    """The facts after all fixes; None when the effect of one of them is not known."""
    changed = dict(table)
    if not finding.fixes:
        return None
    for fix in finding.fixes:
        if not fix.changes:
            return None
        changed[fix.changes] = fix.value
    return changed
