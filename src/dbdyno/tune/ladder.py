"""A ladder: changes tried one at a time, each kept only when paired runs show it to be faster.

For each rung the configuration as it stands and the same with the change are run in turn and back (A B, B A, …), so
that a drift of the machine strikes both alike. Later rungs stand on what was kept. At the end all that was kept is
measured against the base in pairs of its own: ratios of single rungs multiply only where they do not work together.

This is how performance engineers tune by hand; the two write-tuning articles that `examples/` reproduces both go one
change at a time and keep what helps.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from typing import Any

import msgspec

from dbdyno.model.errors import UsageError
from dbdyno.model.experiment import Configuration, ExperimentOutcome, Ladder, Rung, RungResult
from dbdyno.model.trial import Comparison, Trial, TrialKind, TrialStatus
from dbdyno.stats.paired import FASTER
from dbdyno.tune.experiment import Arm, Experiment, merged, paired
from dbdyno.tune.rounds import next_slot, slots

RUNGS_MAX = 50
TOTAL = "all"
_WORDS = {"title", "expects", "watch", "base", "rung"}
_RUNG_WORDS = {"name", "title", "set", "options", "keep", "source"}


def parse_ladder(text: str, path: str) -> Ladder:
    """A ladder from its TOML file. Raises `UsageError` that names the word that is wrong."""
    try:
        words = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"The ladder {path} is not TOML.", found=str(error)) from None
    _only(words, _WORDS, f"The ladder {path}")
    rungs = words.get("rung", [])
    if not isinstance(rungs, list) or not rungs:
        raise UsageError(f"The ladder {path} has no rung.", todo="add [[rung]] with name and set = { setting = value }")
    if len(rungs) > RUNGS_MAX:
        raise UsageError(f"The ladder {path} has {len(rungs)} rungs.", todo=f"at most {RUNGS_MAX}")
    made = tuple(_rung(rung, path) for rung in rungs)
    names = [rung.name for rung in made]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(f"The ladder {path} has two rungs of the same name.", found=", ".join(twice))
    base = words.get("base", {})
    _only(base, {"set", "options"}, f"[base] of the ladder {path}")
    return Ladder(
        title=str(words.get("title", "")),
        base=_configuration(base, path),
        rungs=made,
        watch=tuple(words.get("watch", ())),
        expects=str(words.get("expects", "")),
    )


def _rung(words: Any, path: str) -> Rung:
    if not isinstance(words, dict) or not isinstance(words.get("name"), str) or not words["name"].strip():
        raise UsageError(f"A rung of the ladder {path} has no name.", todo='name = "a few words"')
    name = words["name"]
    if any(character in name for character in "/\0\n") or len(name) > 80:
        raise UsageError(f"A rung of the ladder {path} has a name that cannot be a folder's.", found=repr(name))
    _only(words, _RUNG_WORDS, f"The rung {name!r} of the ladder {path}")
    change = _configuration(words, path)
    if not change.settings and not change.options:
        raise UsageError(f"The rung {name!r} of the ladder {path} changes nothing.", todo="set = { setting = value }")
    keep = words.get("keep")
    if keep is not None and not isinstance(keep, bool):
        raise UsageError(f"keep of the rung {name!r} is neither true nor false.", found=repr(keep))
    return Rung(
        name=name, title=str(words.get("title", "")), change=change, keep=keep, source=str(words.get("source", ""))
    )


def _configuration(words: dict[str, Any], path: str) -> Configuration:
    settings, options = words.get("set", {}), words.get("options", {})
    for table, what in ((settings, "set"), (options, "options")):
        if not isinstance(table, dict):
            raise UsageError(f"{what} in the ladder {path} is no table.", todo=f"{what} = {{ name = value }}")
        for name, value in table.items():
            if not isinstance(value, str | int | float):
                raise UsageError(f"The value of {name} in the ladder {path} is no number or word.", found=repr(value))
    return Configuration(settings=settings, options=options)


def _only(words: Any, known: set[str], where: str) -> None:
    if not isinstance(words, dict):
        raise UsageError(f"{where} is no table.")
    if unknown := sorted(set(words) - known):
        raise UsageError(
            f"{where} holds words that mean nothing: {', '.join(unknown)}.", todo="use: " + ", ".join(sorted(known))
        )


@dataclass
class LadderRun:
    """Climbs a ladder; see `Experiment` for what it stands on."""

    experiment: Experiment
    ladder: Ladder
    pairs: int
    seed: int
    outcome: ExperimentOutcome = field(default_factory=lambda: ExperimentOutcome(status="running"))

    def run(self) -> ExperimentOutcome:
        """Goes on until the top. The outcome is written after each rung, and whatever happens at the end."""
        status = "failed"
        try:
            self._climb()
            status = "done"
        except KeyboardInterrupt:
            status = "interrupted"
            raise
        finally:
            self._note(status=status)
        return self.outcome

    def _climb(self) -> None:
        standing = self.ladder.base
        self._note(rungs=(), kept=Configuration())
        for rung in self.ladder.rungs:
            result = self._rung(rung, standing)
            if result.kept:
                standing = merged(standing, rung.change)
                self._note(kept=merged(self.outcome.kept, rung.change))
            self._note(rungs=(*self.outcome.rungs, result))
        if sum(result.kept for result in self.outcome.rungs) > 1:
            before, after = Arm(f"{TOTAL}.without", self.ladder.base), Arm(f"{TOTAL}.with", standing)
            self._note(total=self._pairs(before, after, (TOTAL + " without", TOTAL)))

    def _note(self, **changes: Any) -> None:
        self.outcome = msgspec.structs.replace(self.outcome, **changes)
        self.experiment.write(self.outcome)

    def _rung(self, rung: Rung, standing: Configuration) -> RungResult:
        without = Arm(f"{rung.name}.without", standing)
        with_ = Arm(f"{rung.name}.with", merged(standing, rung.change))
        comparison = self._pairs(without, with_, ("before", rung.name))
        result = self.experiment.result
        shown = comparison is not None and comparison.verdict == FASTER
        return RungResult(
            name=rung.name,
            title=rung.title,
            without=result(without, TrialKind.RUNG),
            with_=result(with_, TrialKind.RUNG),
            comparison=comparison,
            kept=shown if rung.keep is None else rung.keep,
            says=_why(rung, comparison),
        )

    def _pairs(self, a: Arm, b: Arm, names: tuple[str, str]) -> Comparison | None:
        """Runs A B, B A, … until all pairs are there; two failures of one arm in one place end it early."""
        order = [arm.name for turn in range(self.pairs) for arm in ((a, b) if turn % 2 == 0 else (b, a))]
        arms = {a.name: a, b.name: b}
        while (name := next_slot(own := self._of(arms), order, TrialKind.RUNG)) is not None:
            if len(own) > 1 and all(trial.status is TrialStatus.FAILED for trial in own[-2:]):
                break
            self.experiment.measure(arms[name], TrialKind.RUNG)
        filled = slots(self._of(arms), TrialKind.RUNG)
        both = [sorted(filled[at : at + 2], key=lambda trial: trial.name != a.name) for at in range(0, len(filled), 2)]
        return paired([(pair[0], pair[1]) for pair in both if len(pair) == 2], names, self.seed)

    def _of(self, arms: dict[str, Arm]) -> list[Trial]:
        return [trial for trial in self.experiment.trials if trial.kind is TrialKind.RUNG and trial.name in arms]


def _why(rung: Rung, comparison: Comparison | None) -> str:
    if rung.keep is not None:
        return "kept as the file says" if rung.keep else "taken back as the file says"
    if comparison is None:
        return "dropped: it could not be measured"
    return "kept: shown to be faster" if comparison.verdict == FASTER else f"dropped: {comparison.verdict}"


def steps(ladder: Ladder, pairs: int) -> int:
    """Most runs that the ladder takes when nothing is doubted."""
    return 2 * pairs * (len(ladder.rungs) + (len(ladder.rungs) > 1))
