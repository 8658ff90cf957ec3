"""What an audit says: its findings, and what could not be looked at."""

from __future__ import annotations

from dbdyno.model.fact import Fact
from dbdyno.model.finding import Finding, Severity, Verdict
from dbdyno.model.knob import Level
from dbdyno.model.record import Record

CHECK_FORMAT = 1
"""Version of the JSON form. It rises when an older reader could misunderstand it."""


class Problem(Record, frozen=True, kw_only=True):
    """Something that kept the audit from seeing all that it should."""

    source: str
    """`server`, `host`, or the name of a dump's file."""
    what: str
    found: str = ""
    todo: str = ""
    fatal: bool = False
    """Whether nothing at all is known of the source."""


class Generated(Record, frozen=True, kw_only=True):
    """A whole starting configuration."""

    title: str
    source: str
    text: str
    """As the server's file takes it, each line with its reason."""
    assignment: dict[str, str | int | float] = {}
    reasons: dict[str, str] = {}


class Checked(Record, frozen=True, kw_only=True):
    """One target, audited."""

    format: int = CHECK_FORMAT
    target: str
    engine: str = ""
    server: str = ""
    """Its version in its own words."""
    host: str = ""
    """The machine as it was asked for: `local`, `ssh://…`, a folder, `dump`; empty when it was not examined."""
    started_unix_s: float = 0.0
    seconds: float = 0.0
    level: Level | None = None
    """Highest contract level that the present settings permit; None when they are not known."""
    lacking: tuple[str, ...] = ()
    """Promises beside the level that they do not keep: `pitr`, `replication`, `maintenance`."""
    findings: tuple[Finding, ...] = ()
    """One for each rule that applies, the worst first."""
    not_applicable: tuple[str, ...] = ()
    accepted: tuple[str, ...] = ()
    """Ids of rules whose findings the baseline accepts; they are not among the findings."""
    problems: tuple[Problem, ...] = ()
    generated: Generated | None = None
    facts: tuple[Fact, ...] = ()

    def of(self, verdict: Verdict) -> list[Finding]:
        return [finding for finding in self.findings if finding.verdict is verdict]

    def failed(self, severity: Severity) -> int:
        return sum(finding.severity is severity for finding in self.of(Verdict.FAIL))


def worst_first(findings: list[Finding]) -> tuple[Finding, ...]:
    """Failed before unknown before passed; the more severe first; then by rule."""
    order = [Verdict.FAIL, Verdict.UNKNOWN, Verdict.PASS]
    return tuple(sorted(findings, key=lambda one: (order.index(one.verdict), -_rank(one), one.rule)))


def _rank(finding: Finding) -> int:
    return finding.severity.rank if finding.verdict is Verdict.FAIL else 0
