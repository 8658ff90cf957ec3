"""What a running server says of itself, as facts. What it did not say in time is missing, with that reason."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from types import ModuleType

from dbdyno.check.book import engine_module
from dbdyno.check.limited import Limited
from dbdyno.check.redact import redacted
from dbdyno.check.result import Problem
from dbdyno.model.clock import Clock
from dbdyno.model.engine import Checkable, Inspection
from dbdyno.model.errors import DynoError, TargetError
from dbdyno.model.fact import Fact
from dbdyno.model.facts import Facts, MissingFact
from dbdyno.model.target import Secret, Target

FACTS_MAX = 200_000
"""Most facts that one server may give; far beyond any real one."""
TEXT_CHARACTERS_MAX = 65_536
"""Longest text that is kept of one fact."""


class ServerRead:
    """Reads a server in a thread of its own. `facts` grows while it reads, so that a time limit loses only the rest."""

    def __init__(self, engine: Checkable, target: Target, secret: Secret, *, clock: Clock, seconds: float) -> None:
        self._engine = engine
        self._target = target
        self._secret = secret
        self._clock = clock
        self._seconds = seconds
        self.facts: list[Fact] = []
        self.complete = False
        self._task = Limited(self._read)

    def wait(self, limit_s: float) -> list[Problem]:
        """Waits until all is read, or the limit. Returns what went wrong."""
        try:
            self._task.result(limit_s + self._seconds)
        except TimeoutError:
            done = len(self.facts)
            what = f"{self._target.label} did not answer all questions within {limit_s:g} s."
            todo = "look whether it hangs, or give it longer with --timeout"
            return [Problem(source="server", what=what, found=f"{done} facts came in time", todo=todo, fatal=not done)]
        except DynoError as error:
            return [Problem(source="server", what=error.what, found=error.found, todo=error.todo, fatal=not self.facts)]
        return []

    def _read(self) -> None:
        session = self._engine.connect(self._target, self._secret)
        try:
            for fact in self._all(session):
                if len(self.facts) >= FACTS_MAX:
                    raise TargetError(
                        f"{self._target.label} says more than {FACTS_MAX} things of itself.",
                        todo="the first ones were judged; look why it has so many",
                    )
                self.facts.append(bounded(fact))
            self.complete = True
        finally:
            session.close()

    def _all(self, session: Inspection) -> Iterator[Fact]:
        module = engine_module(self._engine.name, "facts")
        yield from session.facts()
        yield from setting_facts(session)
        if module is None:
            return
        first = _count(module, session) if self._seconds else {}
        started = self._clock.monotonic()
        if hasattr(module, "read_facts"):
            yield from module.read_facts(session)
        if self._seconds and first:
            self._clock.sleep(self._seconds - (self._clock.monotonic() - started))
            elapsed = self._clock.monotonic() - started
            yield from rates(first, _count(module, session), elapsed)
        else:
            yield from rates_not_asked(module)


def setting_facts(session: Inspection) -> Iterator[Fact]:
    """Every setting as `setting.<name>`, in the server's words and base unit; where it comes from as its source."""
    for setting in session.settings().values():
        source = setting.source + (" (persisted)" if setting.persisted else "")
        yield Fact(name=f"setting.{setting.name}", value=setting.value, unit=setting.unit, source=source)
        if setting.choices:
            # A build may lack some of the words that its version knows.
            yield Fact(name=f"choices.{setting.name}", value=",".join(setting.choices), source="the server's build")


def rates(first: dict[str, float], second: dict[str, float], elapsed_s: float) -> Iterator[Fact]:
    """Change a second between two samples; a counter that fell was reset, and says nothing."""
    for name, before in first.items():
        fact = Fact(name=f"rate.{name}_per_s", unit="1/s", source=f"two samples {elapsed_s:.1f} s apart", value=0.0)
        change = second.get(name, -1.0) - before
        if change < 0 or elapsed_s <= 0:
            yield unknown(fact, "the counter was reset between the samples")
        else:
            yield Fact(name=fact.name, unit=fact.unit, source=fact.source, value=change / elapsed_s)


def rates_not_asked(module: ModuleType) -> Iterator[Fact]:
    for name in getattr(module, "RATES", ()):
        yield Fact(name=f"rate.{name}_per_s", unit="1/s", unknown="needs two samples: --seconds N")


def derived(module: ModuleType | None, facts: Iterable[Fact]) -> list[Fact]:
    """The facts with those that the engine computes from them."""
    known = list(facts)
    derive: Callable[[Facts], Iterable[Fact]] | None = getattr(module, "derive", None)
    if derive is not None:
        try:
            for fact in itertools.islice(derive(Facts(known)), FACTS_MAX):
                known.append(fact)
        except MissingFact:
            pass
    return known


def bounded(fact: Fact) -> Fact:
    """The fact with a value of bounded length and without passwords."""
    if isinstance(fact.value, str) and len(fact.value) > TEXT_CHARACTERS_MAX:
        return unknown(fact, f"longer than {TEXT_CHARACTERS_MAX} characters")
    return redacted(fact)


def unknown(fact: Fact, reason: str) -> Fact:
    return Fact(name=fact.name, unit=fact.unit, source=fact.source, unknown=reason)


def _count(module: ModuleType, session: Inspection) -> dict[str, float]:
    counters: Callable[[Inspection], dict[str, float]] | None = getattr(module, "counters", None)
    return dict(counters(session)) if counters is not None else {}
