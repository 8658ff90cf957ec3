"""Which rules run and which findings are shown: `--only`, `--skip`, `--severity`, and the baseline of accepted ones."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from dbdyno.check.book import Entry
from dbdyno.check.contract import RULE as CONTRACT_RULE
from dbdyno.model.errors import UsageError
from dbdyno.model.finding import Finding, Severity, Verdict
from dbdyno.model.record import Record, to_json

BASELINE_FORMAT = 1


class Accepted(Record, frozen=True, kw_only=True):
    """A finding that somebody has seen and lives with."""

    rule: str
    severity: Severity
    """A finding that has become worse than this is shown again."""
    reason: str = ""


class Baseline(Record, frozen=True, kw_only=True):
    format: int = BASELINE_FORMAT
    accepted: tuple[Accepted, ...] = ()


def choose(entries: Iterable[Entry], only: Sequence[str], skip: Sequence[str]) -> list[Entry]:
    """Rules whose id (with * and ?) or topic is named by `only` and not by `skip`. Raises `UsageError` for a word that
    names no rule: a slip there would switch an audit off in silence."""
    known = list(entries)
    for word in (*only, *skip):
        if word.upper() != CONTRACT_RULE and not any(_named(entry, word) for entry in known):
            topics = ", ".join(sorted({entry.rule.topic for entry in known if entry.rule.topic}))
            raise UsageError(f"{word!r} names no rule here.", todo=f"give an id (PG002, HOST*), or a topic: {topics}")
    return [
        entry
        for entry in known
        if (not only or any(_named(entry, word) for word in only)) and not any(_named(entry, word) for word in skip)
    ]


def wants_contract(only: Sequence[str], skip: Sequence[str]) -> bool:
    words = [word.upper() for word in only]
    return (not words or CONTRACT_RULE in words) and CONTRACT_RULE not in [word.upper() for word in skip]


def at_least(findings: Iterable[Finding], severity: Severity) -> list[Finding]:
    """Without failed ones that are milder. What passes or is unknown stays."""
    return [one for one in findings if one.verdict is not Verdict.FAIL or one.severity.rank >= severity.rank]


def apply_baseline(findings: Iterable[Finding], baseline: Baseline) -> tuple[list[Finding], tuple[str, ...]]:
    """The findings that are left, and the ids of those that were accepted. A breach of the contract is never."""
    accepted = {one.rule: one.severity for one in baseline.accepted}
    kept, known = [], []
    for finding in findings:
        limit = accepted.get(finding.rule)
        if (
            finding.verdict is Verdict.FAIL
            and limit is not None
            and finding.severity.rank <= limit.rank
            and finding.rule != CONTRACT_RULE
        ):
            known.append(finding.rule)
        else:
            kept.append(finding)
    return kept, tuple(sorted(known))


def baseline_of(findings: Iterable[Finding]) -> Baseline:
    """A baseline that accepts what is found now, but for breaches of the contract."""
    return Baseline(
        accepted=tuple(
            Accepted(rule=one.rule, severity=one.severity)
            for one in sorted(findings, key=lambda finding: finding.rule)
            if one.verdict is Verdict.FAIL and one.rule != CONTRACT_RULE
        )
    )


def read_baseline(path: Path) -> Baseline:
    """Raises `UsageError` when it is missing or no baseline."""
    try:
        baseline = msgspec.json.decode(path.read_bytes(), type=Baseline)
    except OSError as error:
        raise UsageError(
            f"The baseline {path} cannot be read.",
            found=error.strerror or str(error),
            todo="make one with --write-baseline FILE",
        ) from None
    except msgspec.DecodeError as error:
        raise UsageError(
            f"{path} is not a baseline.", found=str(error), todo="make one with --write-baseline"
        ) from None
    if baseline.format > BASELINE_FORMAT:
        raise UsageError(f"The baseline {path} is of a later version.", found=f"format {baseline.format}")
    return baseline


def baseline_text(baseline: Baseline) -> bytes:
    return msgspec.json.format(to_json(baseline), indent=2) + b"\n"


def _named(entry: Entry, word: str) -> bool:
    return fnmatch.fnmatchcase(entry.rule.id, word.upper()) or entry.rule.topic == word.lower()
