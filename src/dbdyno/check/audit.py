"""One audit from end to end: facts of the server and its machine, the rules about them, the verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dbdyno.check.book import Entry, engine_module, engine_rules, host_rules, site_rules, unique
from dbdyno.check.contract import judge_contract, present_level
from dbdyno.check.dump import read_dump
from dbdyno.check.host import HostAt, limit_fact, read_host
from dbdyno.check.judge import judge_all
from dbdyno.check.machine import generate
from dbdyno.check.result import Checked, Generated, Problem, worst_first
from dbdyno.check.select import Baseline, apply_baseline, at_least, choose, wants_contract
from dbdyno.check.server import ServerRead, derived
from dbdyno.engines.registry import checkable_named
from dbdyno.model.clock import Clock
from dbdyno.model.contract import Contract
from dbdyno.model.engine import Checkable
from dbdyno.model.errors import UsageError
from dbdyno.model.fact import Fact
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Severity
from dbdyno.model.target import Secret, Target

TIMEOUT_S = 10.0


@dataclass(frozen=True)
class Options:
    """What the user asked for."""

    clock: Clock
    config: Path
    """Folder of the user's configuration, which may hold `rules/`."""
    token: str
    """A random word, for what is fetched over SSH."""
    seconds: float = 0.0
    """Between the two samples from which rates are made; 0: none."""
    timeout_s: float = TIMEOUT_S
    """For each source: the server, the machine."""
    contract: Contract = field(default_factory=Contract)
    judge_contract: bool = False
    only: Sequence[str] = ()
    skip: Sequence[str] = ()
    severity: Severity = Severity.ADVICE
    baseline: Baseline | None = None
    generate: bool = False
    sizes: Mapping[str, object] = field(default_factory=dict)
    """Fields of the machine that are given instead of observed, for `generate`."""


def audit(target: Target, secret: Secret, engine: Checkable, host: HostAt, options: Options) -> Checked:
    """Audits a running server. What could not be seen is in `problems` and in verdicts that are unknown."""
    started, began = options.clock.unix(), options.clock.monotonic()
    reader = ServerRead(engine, target, secret, clock=options.clock, seconds=options.seconds)
    problems = reader.wait(options.timeout_s)
    server = list(reader.facts)
    module = engine_module(engine.name, "facts")
    facts = list(server)
    if host.examined:
        found, troubles = read_host(
            host, server, clock=options.clock, seconds=options.seconds, timeout_s=options.timeout_s,
            token=options.token, files=getattr(module, "read_files", None),
        )  # fmt: skip
        facts += found
        problems += troubles
    else:
        what = "The machine under the server was not examined."
        problems.append(Problem(source="host", what=what, todo="give --host local, ssh://user@host, or a folder"))
    return _judged(
        facts, options, engine if server else None, problems, label=target.label, host=host.label,
        has_host=host.examined,
        started=started, began=began,
    )  # fmt: skip


def audit_host(host: HostAt, options: Options) -> Checked:
    """Audits a machine without a server."""
    started, began = options.clock.unix(), options.clock.monotonic()
    facts, problems = read_host(
        host, (), clock=options.clock, seconds=options.seconds, timeout_s=options.timeout_s, token=options.token
    )
    return _judged(
        facts, options, None, problems, label=host.label, host=host.label, has_host=True, started=started,
        began=began,
    )  # fmt: skip


def audit_dump(path: Path, options: Options) -> Checked:
    """Audits what somebody sent. Raises `UsageError` when nothing of it can be read."""
    started, began = options.clock.unix(), options.clock.monotonic()
    dump = read_dump(path, clock=options.clock)
    return _judged(
        dump.facts, options, checkable_named(dump.engine) if dump.engine else None, dump.problems, label=str(path),
        host="dump" if dump.has_host else "", has_host=dump.has_host, started=started, began=began,
    )  # fmt: skip


def rules_for(engine: str | None, has_host: bool, config: Path) -> list[Entry]:
    """All rules that are about such a subject. Raises `UsageError` for a site rule that cannot be used."""
    entries = engine_rules(engine) if engine else []
    entries += host_rules() if has_host else []
    return unique(entries + site_rules(config, engine))


def _judged(
    observed: Iterable[Fact],
    options: Options,
    engine: Checkable | None,
    problems: list[Problem],
    *,
    label: str,
    host: str,
    has_host: bool,
    started: float,
    began: float,
) -> Checked:
    facts = list(observed)
    facts.append(limit_fact(Facts(facts)))
    recovery_s = options.contract.recovery_s_max
    facts.append(Fact(name="contract.recovery_s_max", unit="s", source="--recovery-time", value=recovery_s))
    facts.append(Fact(name="check.unix_s", unit="s", source="our clock", value=started))
    if engine:
        facts = derived(engine_module(engine.name, "facts"), facts)
    table = Facts(facts)
    # A word in --only may name rules of a part that is not there now; it must only name some rule.
    known = rules_for(engine.name if engine else None, True, options.config)
    chosen = [one for one in choose(known, options.only, options.skip) if has_host or one.origin != "hosts"]
    findings, elsewhere = judge_all(chosen, table)
    level, lacks = present_level(engine, table) if engine else (None, ())
    if engine and options.judge_contract and wants_contract(options.only, options.skip):
        findings += judge_contract(engine, table, options.contract)
    accepted: tuple[str, ...] = ()
    findings = at_least(findings, options.severity)
    if options.baseline is not None:
        findings, accepted = apply_baseline(findings, options.baseline)
    return Checked(
        target=label,
        engine=engine.name if engine else "",
        server=_text(table, "server.version_text"),
        host=host,
        started_unix_s=started,
        seconds=options.clock.monotonic() - began,
        level=level,
        lacking=lacks,
        findings=worst_first(findings),
        not_applicable=tuple(elsewhere),
        accepted=accepted,
        problems=tuple(problems),
        generated=_generated(engine, table, options) if options.generate else None,
        facts=tuple(facts),
    )


def _generated(engine: Checkable | None, facts: Facts, options: Options) -> Generated:
    if engine is None:
        raise UsageError("A configuration is made for a server; none was reached.")
    return generate(engine, facts, options.sizes)


def _text(facts: Facts, name: str) -> str:
    fact = facts.find(name)
    return "" if fact is None or fact.unknown else str(fact.value)
