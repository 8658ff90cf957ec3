"""Facts by name, as rules ask for them: a fact that is not there cannot be mistaken for a value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dbdyno.model.fact import Fact, Scalar

_TRUE = frozenset({"on", "true", "yes", "1", "enabled"})
_FALSE = frozenset({"off", "false", "no", "0", "disabled"})


class MissingFact(Exception):
    """A rule asked for what could not be observed. Whoever runs the rule turns it into the verdict unknown."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"{name}: {reason}")
        self.name = name
        self.reason = reason


class Facts:
    """All that was observed of a server and its machine. The accessors raise `MissingFact`."""

    def __init__(self, facts: Iterable[Fact]) -> None:
        self._facts = {fact.name: fact for fact in facts}
        self.asked: dict[str, Scalar] = {}
        """What was asked for and found: the evidence of the rule that runs."""

    def __iter__(self) -> Iterator[Fact]:
        return iter(self._facts.values())

    def __len__(self) -> int:
        return len(self._facts)

    def fresh(self) -> Facts:
        """The same facts with nothing asked yet, for the next rule."""
        fresh = Facts(())
        # Shared: nobody changes them, and a hundred rules ask.
        fresh._facts = self._facts
        return fresh

    def find(self, name: str) -> Fact | None:
        return self._facts.get(name)

    def has(self, name: str) -> bool:
        """Whether it was observed. For facts that some versions do not have: their absence is not a lack of sight."""
        fact = self._facts.get(name)
        return fact is not None and not fact.unknown

    def value(self, name: str) -> Scalar:
        fact = self._facts.get(name)
        if fact is None:
            raise MissingFact(name, "not observed")
        if fact.unknown:
            raise MissingFact(name, fact.unknown)
        self.asked[name] = fact.value
        return fact.value

    def number(self, name: str) -> float:
        """A number, also from a text that is one."""
        value = self.value(name)
        try:
            return float(value)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            raise MissingFact(name, f"not a number: {value!r}") from None

    def text(self, name: str) -> str:
        return str(self.value(name))

    def flag(self, name: str) -> bool:
        """A switch in any of the words that servers and kernels use for it."""
        value = self.value(name)
        if isinstance(value, bool):
            return value
        word = str(value).strip().lower()
        if word in _TRUE:
            return True
        if word in _FALSE:
            return False
        raise MissingFact(name, f"neither on nor off: {value!r}")

    def below(self, prefix: str) -> dict[str, Scalar]:
        """All observed facts whose names begin with `prefix` and a dot, by the rest of the name."""
        start = prefix + "."
        found = {
            name.removeprefix(start): fact.value
            for name, fact in self._facts.items()
            if name.startswith(start) and not fact.unknown
        }
        self.asked.update({start + name: value for name, value in list(found.items())[:8]})
        return found
