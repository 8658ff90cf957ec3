"""Runs rules over facts. The only place where a missing fact becomes the verdict unknown."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from dbdyno.check.book import Entry
from dbdyno.model.facts import Facts, MissingFact
from dbdyno.model.finding import Finding, Verdict


def judge(entry: Entry, facts: Facts) -> Finding | None:
    """The verdict of one rule; None when it is not about this server. Never raises: a rule that breaks is unknown."""
    fresh = facts.fresh()
    rule = entry.rule
    try:
        if not rule.applies(fresh):
            return None
        found = rule.check(fresh)
    except MissingFact as missing:
        says = f"cannot be seen: {missing}"
        return _filled(entry, Finding(verdict=Verdict.UNKNOWN, says=says), fresh)
    except Exception as error:  # a rule must not take the others down with it
        says = f"the rule itself failed: {type(error).__name__}: {error}"
        return _filled(entry, Finding(verdict=Verdict.UNKNOWN, says=says), fresh)
    return _filled(entry, found or Finding(verdict=Verdict.PASS, says=rule.title), fresh)


def judge_all(entries: Iterable[Entry], facts: Facts) -> tuple[list[Finding], list[str]]:
    """Verdicts in the order of the entries, and the ids of the rules that do not apply."""
    findings: list[Finding] = []
    elsewhere: list[str] = []
    for entry in entries:
        finding = judge(entry, facts)
        if finding is None:
            elsewhere.append(entry.rule.id)
        else:
            findings.append(finding)
    return findings, elsewhere


def _filled(entry: Entry, finding: Finding, facts: Facts) -> Finding:
    """The finding with what stands in the rule's file, unless it says so itself."""
    rule, sections = entry.rule, entry.sections
    failed = finding.verdict is Verdict.FAIL
    undo = "\n".join(dict.fromkeys(fix.undo for fix in finding.fixes if fix.undo))
    return msgspec.structs.replace(
        finding,
        rule=rule.id,
        title=rule.title,
        source=finding.source or rule.source,
        evidence={**facts.asked, **finding.evidence},
        why=finding.why or (sections.get("Why it matters", "") if failed else ""),
        remedy=finding.remedy or (sections.get("Remedy", "") if failed else ""),
        risk=finding.risk or (sections.get("Risk", "") if failed else ""),
        verify=finding.verify or (f"dyno check TARGET --only {rule.id}" if failed else ""),
        undo=finding.undo or undo,
    )
