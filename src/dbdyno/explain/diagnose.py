"""Asks every diagnosis about every stall, and ranks what they answer.

A cause is worth more the more of the lost transactions it explains, the surer it is, and the worse it is. What only
names the exhausted resource stands behind what names who exhausted it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.facts import MissingFact
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.record import Record
from dbdyno.model.recording import Recording, Stall


class Ranked(Record, frozen=True, kw_only=True):
    """A finding with the stalls that it explains."""

    finding: Finding
    """Of the stall in which it is seen best."""
    stalls: tuple[int, ...] = ()
    """Numbers of the stalls, from 0; none for what is seen without a stall."""
    lost: float = 0.0
    """Transactions lost in those stalls."""
    sure: float = 0.0
    """The same, each stall's times the confidence there."""
    symptom: bool = False


class Unknown(Record, frozen=True, kw_only=True):
    """A diagnosis that could not be made, and why."""

    rule: str
    title: str
    why: str


def diagnose(recording: Recording, diagnoses: Iterable[Diagnosis]) -> tuple[list[Ranked], list[Unknown]]:
    """The findings, the most telling first, and what could not be judged."""
    ranked: list[Ranked] = []
    unknown: list[Unknown] = []
    for diagnosis in diagnoses:
        found, why = _ask(recording, diagnosis)
        if found is not None:
            ranked.append(found)
        elif why:
            unknown.append(Unknown(rule=diagnosis.id, title=diagnosis.title, why=why))
    lost = sum(stall.lost for stall in recording.stalls)
    ranked.sort(key=lambda one: _rank(one, lost))
    return ranked, unknown


def _ask(recording: Recording, diagnosis: Diagnosis) -> tuple[Ranked | None, str]:
    findings: list[tuple[int | None, Finding]] = []
    why = ""
    scopes: Sequence[tuple[int | None, Stall | None]] = [*enumerate(recording.stalls), (None, None)]
    for number, stall in scopes:
        try:
            finding = diagnosis.check(recording, stall)
        except MissingFact as missing:
            why = why or str(missing)
            continue
        if finding is not None:
            findings.append((number, _completed(finding, diagnosis, stall)))
    if not findings:
        return None, why
    best = max(findings, key=lambda one: (one[1].severity.rank, one[1].confidence, one[0] is not None))[1]
    numbers = tuple(number for number, _ in findings if number is not None)
    lost = sum(recording.stalls[number].lost for number in numbers)
    sure = sum(recording.stalls[number].lost * one.confidence for number, one in findings if number is not None)
    return Ranked(finding=best, stalls=numbers, lost=lost, sure=sure, symptom=diagnosis.symptom), ""


def _completed(finding: Finding, diagnosis: Diagnosis, stall: Stall | None) -> Finding:
    """With what stands in the diagnosis, and the stall's times where the finding has none of its own."""
    start_s, end_s = finding.start_s, finding.end_s
    if start_s is None and stall is not None:
        start_s, end_s = stall.start_s, stall.end_s
    return msgspec.structs.replace(
        finding,
        rule=finding.rule or diagnosis.id,
        title=finding.title or diagnosis.title,
        source=finding.source or diagnosis.source,
        start_s=start_s,
        end_s=end_s,
    )


def _rank(one: Ranked, lost: float) -> tuple[bool, bool, float, int, str]:
    """Warnings before advice; causes of stalls before what stands apart; causes before symptoms."""
    advice = one.finding.severity == Severity.ADVICE
    explained = one.sure / lost if lost > 0 else 0.0
    weight = explained if one.stalls else 0.5 * one.finding.confidence
    return (advice, one.symptom, -round(weight, 3), -one.finding.severity.rank, one.finding.rule)
