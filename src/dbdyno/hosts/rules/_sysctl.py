"""What a rule wants of a kernel parameter. The rule on persistence asks the same object, so the two never disagree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dbdyno.hosts.rules._fixes import sysctl
from dbdyno.hosts.tree import ABSENT
from dbdyno.model.fact import Scalar
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Fix, Severity


@dataclass(frozen=True)
class Wanted:
    """One key. `fits` judges a value (of now or of the next boot), `target` gives the value to set."""

    key: str
    fits: Callable[[Facts, Scalar], bool]
    target: Callable[[Facts], Scalar]
    judges: Callable[[Facts, str], bool] | None = None
    """For a key whose meaning rests on another one: judges what is below `host.sysctl` or `host.boot.sysctl`."""

    def good(self, facts: Facts, below: str) -> bool:
        """Whether the value of now (`host.sysctl`) or of the next boot (`host.boot.sysctl`) is good."""
        return self.judges(facts, below) if self.judges else self.fits(facts, facts.value(f"{below}.{self.key}"))

    @property
    def fact(self) -> str:
        return f"host.sysctl.{self.key}"

    def fix(self, facts: Facts) -> Fix:
        return sysctl(facts, self.key, self.target(facts))


def at_least(key: str, least: int, target: int | None = None) -> Wanted:
    """A number that must not be smaller."""
    return Wanted(key, lambda _, value: _number(value) >= least, lambda _: least if target is None else target)


def at_most(key: str, most: int, target: int | None = None) -> Wanted:
    """A number that must not be larger."""
    return Wanted(key, lambda _, value: _number(value) <= most, lambda _: most if target is None else target)


def exactly(key: str, *good: int) -> Wanted:
    """One of some numbers; the first is set."""
    return Wanted(key, lambda _, value: _number(value) in good, lambda _: good[0])


def there(*keys: str) -> Callable[[Facts], bool]:
    """Whether this kernel has the keys at all."""
    return lambda facts: all(facts.value(f"host.sysctl.{key}") != ABSENT for key in keys)


def judge(facts: Facts, wanted: Wanted, says: str, severity: Severity = Severity.ADVICE) -> Finding | None:
    """The common check: `says` may hold `{value}`."""
    value = facts.value(wanted.fact)
    if wanted.fits(facts, value):
        return None
    return Finding(says=says.format(value=value), severity=severity, fixes=(wanted.fix(facts),))


def _number(value: Scalar) -> float:
    return float(value) if isinstance(value, int | float | str) else float("nan")
