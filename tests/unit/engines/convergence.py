"""The property that all advice has: whatever the configuration and the machine, no two rules want different values of
one setting, and after all is set as wanted nothing is wanted again."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence

from dbdyno.check.book import Entry
from dbdyno.check.judge import judge_all
from dbdyno.model.fact import Fact, Scalar
from dbdyno.model.facts import Facts, MissingFact
from dbdyno.model.finding import Verdict

Derive = Callable[[Facts], Iterable[Fact]]


def wanted(rules: Sequence[Entry], derive: Derive, world: dict[str, Scalar]) -> dict[str, set[str]]:
    """The values that the rules want of each setting, in a world of facts."""
    facts = [Fact(name=name, value=value, source="test") for name, value in world.items()]
    with contextlib.suppress(MissingFact):
        for fact in derive(Facts(facts)):
            if fact.name not in world:
                facts.append(fact)
    found: dict[str, set[str]] = {}
    for one in judge_all(rules, Facts(facts))[0]:
        for fix in one.fixes if one.verdict is Verdict.FAIL else ():
            if fix.kind == "setting":
                found.setdefault(fix.name, set()).add(fix.value)
    return found


def require_convergence(rules: Sequence[Entry], derive: Derive, world: dict[str, Scalar]) -> None:
    first = wanted(rules, derive, world)
    assert all(len(values) == 1 for values in first.values()), f"two rules want different things: {first}"
    after = {**world, **{f"setting.{name}": min(values) for name, values in first.items()}}
    again = wanted(rules, derive, after)
    assert not again, f"wanted again after it was made: {again}, first {first}"
