"""A rule: a pure function from facts to at most one finding, complete in its own file.

The file is the rule's manual page, its check and its test data. It lies in `rules/` of the folder that it is about (an
engine's, or `hosts/`), is named as its id says, and is found by being there. Its docstring holds: a first line "ID:
title", then "What it checks", "Why it matters", "Remedy", "Risk", "References" with dates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dbdyno.model.fact import Scalar
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding

FactTable = Mapping[str, Scalar]


@dataclass(frozen=True)
class Rule:
    """`check` returns None when all is well and a `Finding` otherwise; a fact that is missing raises `MissingFact`
    inside the accessors, so a rule holds no error handling."""

    id: str
    """Upper-case letters of the subject and three digits: `HOST012`, `PG101`."""
    title: str
    check: Callable[[Facts], Finding | None]
    source: str
    """Article or manual with its date, as it stands in the finding."""
    good: FactTable
    """Facts with which it passes. Every fact that the check needs is in there."""
    bad: FactTable
    """Facts with which it fails."""
    applies: Callable[[Facts], bool] = lambda _: True
    """Whether it is about this server at all (a version, a role, a kind of disk). It may raise `MissingFact`."""
    topic: str = ""
    """Short word for grouping and `--only`: `memory`, `durability`, `security` …"""
