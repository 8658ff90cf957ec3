"""Every diagnosis, whoever wrote it: named by its bad example, silent on its good one, unknown without its series."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pytest

from dbdyno.explain.diagnose import diagnose
from dbdyno.explain.registry import diagnoses
from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.facts import Facts, MissingFact
from dbdyno.model.finding import Verdict
from dbdyno.model.recording import MemoryRecording, Recording

ALL = diagnoses()
PARAGRAPHS = ("What is seen:", "Why it happens:", "Remedy:", "Cost:", "Rivals:", "References:")

each = pytest.mark.parametrize("diagnosis", ALL, ids=lambda one: one.id)


def made(recording: Recording) -> MemoryRecording:
    assert isinstance(recording, MemoryRecording), "examples are made with model/example.py"
    return recording


def test_there_are_diagnoses() -> None:
    assert ALL
    assert len({one.id for one in ALL}) == len(ALL)


@each
def test_its_page_is_complete(diagnosis: Diagnosis) -> None:
    module = inspect.getmodule(diagnosis.check)
    assert module is not None
    page = module.__doc__ or ""
    assert page.startswith(f"{diagnosis.id}: "), f"the docstring begins with {diagnosis.id!r}"
    for paragraph in PARAGRAPHS:
        assert f"\n{paragraph}" in page
    assert re.search(r"\b(19|20)\d\d\b", diagnosis.source), "the source has a date"
    assert module.__name__.rpartition(".")[2] == diagnosis.id.replace("-", "_"), "the file is named as its id says"


@each
def test_the_bad_example_is_named_first(diagnosis: Diagnosis) -> None:
    recording = made(diagnosis.bad())
    ranked, unknown = diagnose(recording, [diagnosis])
    assert not unknown
    [one] = ranked
    finding = one.finding
    assert finding.rule == diagnosis.id
    assert finding.verdict == Verdict.FAIL
    assert finding.says
    assert finding.remedy or finding.fixes
    assert finding.ruled_out, "say which rival was considered"
    assert finding.evidence
    assert 0 < finding.confidence <= 1
    assert finding.series
    there = {*recording.names(), *(name.partition("/")[0] for name in recording.names()), "throughput"}
    assert set(finding.series) <= there, "evidence is in the record"
    assert finding.start_s is not None or finding.severity == "advice" or not one.stalls


@each
def test_the_good_example_is_not_named(diagnosis: Diagnosis) -> None:
    assert diagnose(diagnosis.good(), [diagnosis]) == ([], [])


@each
def test_without_its_series_it_says_unknown_or_nothing(diagnosis: Diagnosis) -> None:
    """A lack of sight is never an error, and the empty record is never healthy by accident: something raised."""
    whole = made(diagnosis.bad())
    for name in whole.names():
        blind = made(diagnosis.bad())
        blind.drop(name)
        diagnose(blind, [diagnosis])
    facts = list(whole.facts)
    for fact in facts:
        whole.facts = Facts([one for one in facts if one is not fact])
        diagnose(whole, [diagnosis])
    empty = MemoryRecording(duration_s=whole.duration_s, stalls=whole.stalls)
    ranked, unknown = diagnose(empty, [diagnosis])
    assert not ranked
    assert unknown, "an empty record is unknown"


@each
def test_holes_do_no_harm(diagnosis: Diagnosis) -> None:
    holes = made(diagnosis.bad())
    for keys in holes._series.values():
        for series in keys.values():
            series.values[:] = np.nan
    for stall in (*holes.stalls, None):
        try:
            assert diagnosis.check(holes, stall) is None
        except MissingFact:
            continue
