"""A judgement with its evidence."""

from __future__ import annotations

import enum

from dbdyno.model.fact import Scalar
from dbdyno.model.record import Record


class Verdict(enum.StrEnum):
    PASS = "pass"
    FAIL = "fail"
    UNKNOWN = "unknown"


class Finding(Record, frozen=True, kw_only=True):
    rule: str
    verdict: Verdict
    says: str
    evidence: dict[str, Scalar] = {}
    remedy: str = ""
    risk: str = ""
    undo: str = ""
    source: str = ""
