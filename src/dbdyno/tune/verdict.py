"""What came of a study, from its trials: winner, comparisons, contributions, and what is known of the contract.

Nobody is called safe here. The table and the read-back were held in every trial and recovery was measured; whether the
winner survives a loss of power is only known after the power-loss proof, so without it the verdict is unknown.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from dbdyno.model.contract import Contract
from dbdyno.model.fact import Scalar
from dbdyno.model.finding import Verdict
from dbdyno.model.knob import Assignment, KnobSpace
from dbdyno.model.plan import Plan
from dbdyno.model.record import to_dict
from dbdyno.model.target import Target
from dbdyno.model.trial import StudyOutcome, StudyPlan, Trial, TrialKind, TrialStatus
from dbdyno.tune import ablate, confirm, search
from dbdyno.tune import contract as contracts
from dbdyno.tune import drift as drifts
from dbdyno.tune.control import Recovery
from dbdyno.tune.standing_log import log_bytes_max, log_bytes_per_s
from dbdyno.tune.validate import validation

if TYPE_CHECKING:
    from dbdyno.tune.study import Study

Render = Callable[[Assignment], tuple[str, list[str]]]


def empty_plan(study: StudyPlan, target: Target) -> Plan:
    """A plan of the study's load, without phases."""
    return Plan(
        target=target,
        workload=study.workload,
        threads=study.threads,
        seed=study.seed,
        command=study.command,
    )


def outcome_of(study: Study, status: str) -> StudyOutcome:
    """The outcome as far as the trials go; what the trials do not hold (recovery, errors) is kept from the last."""
    bench, trials = study.bench, study.trials
    winner = search.winner(trials)
    plan = bench.plan
    arms = study.arms()
    compared = confirm.comparisons(trials, arms, plan.confirm_pairs, plan.seed)
    found: dict[str, dict[str, float]] = {}
    text = ""
    statements: list[str] = []
    assignment: Assignment = {}
    if winner is not None:
        assignment = dict(winner.assignment)
        found = ablate.contributions(trials, assignment, bench.space, plan.ablate_runs_max)
        facts = contract_facts(study, assignment)
        text, statements = written(
            winner=assignment,
            needed=bench.needed,
            space=bench.space,
            found=found,
            render=study.render,
            name=plan.name,
            proof=proof_words(facts),
        )
    noises = noise(trials, arms, plan.confirm_pairs)
    return StudyOutcome(
        status=status,
        winner=assignment,
        winner_trial=winner.number if winner else None,
        comparisons=tuple(compared),
        contributions=found,
        contract=contract_facts(study, assignment),
        configuration_file=text,
        statements=tuple(statements),
        machine=study_machine(study),
        noise=noises,
        validation=validation(trials, assignment, bench.space, limit_s=plan.validate_s, noise=_spread(noises)),
        error=study.outcome.error,
    )


def study_machine(study: Study) -> dict[str, Scalar]:
    """The machine that the ranges were made for, and the medians of the short looks at it."""
    facts: dict[str, Scalar] = {
        name: value for name, value in to_dict(study.machine).items() if isinstance(value, str | int | float | bool)
    }
    names = sorted({name for trial in study.trials for name in trial.machine_probe})
    for name in names:
        values = [trial.machine_probe.get(name) for trial in study.trials]
        numbers = [float(value) for value in values if isinstance(value, int | float)]
        if numbers:
            facts[f"probe_{name}"] = statistics.median(numbers)
    return facts


def noise(trials: list[Trial], arms: list[confirm.Arm], pairs: int) -> dict[str, Scalar]:
    """Of anchors and repeats in the search, and of A/A pairs in the confirmation."""
    drift = drifts.estimate(trials)
    searched = [trial for trial in trials if trial.kind in drifts.SEARCHED]
    sd, degrees = drifts.repeat_sd(searched, drift)
    found: dict[str, Scalar] = {
        "anchors": sum(trial.kind is TrialKind.ANCHOR for trial in trials),
        "drift_span": drift.span,
        "trials": len(trials),
        "trials_failed": sum(trial.status is TrialStatus.FAILED for trial in trials),
        "trials_doubted": sum(trial.status is TrialStatus.DOUBTED for trial in trials),
    }
    if degrees:
        found |= {"repeat_cv": sd, "repeat_degrees": degrees}
    return found | confirm.noise(trials, arms, pairs)


def _spread(noises: Mapping[str, Scalar]) -> float:
    """Standard deviation of log throughput between runs of one configuration, the larger of what was seen."""
    seen = [noises.get(name) for name in ("aa_log_ratio_sd", "repeat_cv")]
    return max((float(one) for one in seen if isinstance(one, int | float)), default=0.0)


def contract_facts(study: Study, winner: Assignment) -> dict[str, Scalar]:
    """What is known of the contract, check by check: pass, fail or unknown."""
    bench = study.bench
    contract = bench.contract
    breaches = contracts.judge({**bench.needed, **winner}, bench.space, contract, study.machine)
    facts: dict[str, Scalar] = {
        "level": contract.level.name,
        "pitr": contract.pitr,
        "replication": contract.replication,
        "maintenance": contract.maintenance,
        "recovery_s_max": contract.recovery_s_max,
        "recovery_s_estimated": contracts.recovery_s(winner, bench.space),
        "memory_bytes_planned": contracts.memory_bytes(winner, bench.space),
        "memory_bytes_max": contracts.memory_bytes_max(bench.space, contract, study.machine),
        "static": Verdict.FAIL if breaches else Verdict.PASS,
        "breaches": contracts.say(breaches),
        "read_back": _read_back(study.trials, winner),
        "power_loss": Verdict.UNKNOWN,
        "power_loss_says": "not run",
        "recovery": Verdict.UNKNOWN,
        "recovery_says": "not measured yet",
    }
    measured = ("recovery", "power_loss")
    facts |= {name: value for name, value in study.outcome.contract.items() if name.startswith(measured)}
    facts |= _p99(study.trials, contract)
    checks = [facts[name] for name in ("static", "read_back", "recovery", "power_loss", "p99") if name in facts]
    # Unknown as long as anything is: nothing is called safe that the power-loss proof has not passed.
    facts["kept"] = False if Verdict.FAIL in checks else True if all(c == Verdict.PASS for c in checks) else None
    return facts


def _read_back(trials: list[Trial], winner: Assignment) -> Verdict:
    """Each believed trial was read back after its start; a mismatch or a breach would have failed it."""
    own = [trial for trial in trials if trial.assignment == winner]
    if any(trial.tps_charged for trial in own):
        return Verdict.PASS
    return Verdict.FAIL if own else Verdict.UNKNOWN


def _p99(trials: list[Trial], contract: Contract) -> dict[str, Scalar]:
    if contract.p99_ms_max is None:
        return {}
    seen = [
        trial.rate_p99_ms
        for trial in trials
        if trial.kind is TrialKind.CONFIRM and trial.name == confirm.WINNER and trial.rate_p99_ms
    ]
    facts: dict[str, Scalar] = {"p99_ms_max": contract.p99_ms_max, "p99": Verdict.UNKNOWN}
    if seen:
        facts["p99_ms"] = statistics.median(seen)
        facts["p99"] = Verdict.PASS if statistics.median(seen) <= contract.p99_ms_max else Verdict.FAIL
    return facts


LOG_PART_MIN = 0.1
"""A crash that replayed less than this part of the log that may stand says little of the longest recovery."""


def recovery(
    found: Recovery, winner: Assignment, trials: list[Trial], space: KnobSpace, contract: Contract
) -> dict[str, Scalar]:
    """Measured recovery against the contract, and how long it could take with as much log as may ever stand.

    The log that was replayed is estimated from the winner's log for a transaction and its throughput; the log that may
    stand is bounded by volume and, at that rate, by the time between checkpoints. What grows is taken as proportional
    to the log. Only a recovery that is shown to stay within the contract passes; beyond what was seen it is unknown.
    """
    facts: dict[str, Scalar] = {
        "recovery_s": found.seconds,
        "recovery_loaded_s": found.loaded_s,
        "recovery_start_s": found.start_s,
    }
    seen = f"{found.seconds:.1f} s after a crash under {found.loaded_s:.0f} s of load"
    if found.seconds > contract.recovery_s_max:
        return facts | {"recovery": Verdict.FAIL, "recovery_says": seen}
    rate = log_bytes_per_s(trials, winner)
    stands = log_bytes_max(winner, space, rate)
    replayed = rate * found.loaded_s
    if not stands or replayed < LOG_PART_MIN * stands:
        part = f"{replayed / 2**20:.0f} of {stands / 2**20:.0f} MiB of log" if stands else "an unknown part of the log"
        says = f"{seen}, with {part} that may stand; too little to know the longest"
        return facts | {"recovery": Verdict.UNKNOWN, "recovery_says": says}
    longest = found.start_s + (found.seconds - found.start_s) * max(1.0, stands / replayed)
    kept = longest <= contract.recovery_s_max
    return facts | {
        "recovery_s_longest": longest,
        "recovery": Verdict.PASS if kept else Verdict.UNKNOWN,
        "recovery_says": f"{seen}; with all {stands / 2**20:.0f} MiB of log that may stand, about {longest:.0f} s",
    }


def written(
    *,
    winner: Assignment,
    needed: Assignment,
    space: KnobSpace,
    found: dict[str, dict[str, float]],
    render: Render,
    name: str,
    proof: str,
) -> tuple[str, list[str]]:
    """The winner as a file and as statements: only what differs from the default, each with what it contributes.
    `proof` says what is known of a loss of power."""
    names = ablate.changed(winner, space)
    names.sort(key=lambda one: (-abs(found.get(one, {}).get("ratio", 1.0) - 1.0), one))
    lines = [
        f"# Found by dyno, study {name}. Contributions: throughput with the setting over without it (95 % interval).",
        f"# Loss of power: {proof}.",
    ]
    statements = [f"-- {lines[0][2:]}", f"-- {lines[1][2:]}"]
    for group in _written_together(names):
        text, commands = render({one: winner[one] for one in group})
        written = text.splitlines()
        remarks = [ablate.remark(one, found) for one in group]
        if len(written) != len(group):
            remarks = ["; ".join(dict.fromkeys(remarks))] * len(written)
        lines += [f"{line:<48} # {remark}" for line, remark in zip(written, remarks, strict=True)]
        statements += [f"{command} -- {remarks[0]}" for command in commands]
    for one, value in needed.items():
        text, commands = render({one: value})
        lines.append(f"{text.strip():<48} # the contract needs it")
        statements += [f"{command} -- the contract needs it" for command in commands]
    return "\n".join(lines) + "\n", statements


def proof_words(facts: Mapping[str, Scalar]) -> str:
    """What the power-loss proof said, for the head of the winner's file: never more than it showed."""
    says = " ".join(str(facts.get("power_loss_says") or "not run").split()).rstrip(".")
    match facts.get("power_loss"):
        case Verdict.PASS:
            return f"proven, {says}"
        case Verdict.FAIL:
            return f"NOT SAFE, {says}"
        case _:
            return f"not proven, {says}"


def _written_together(names: Sequence[str]) -> list[list[str]]:
    """Settings that are parts of one (`options.size`, `options.kind`) go to the engine together, in the place of the
    first; all others alone."""
    groups: dict[str, list[str]] = {}
    for name in names:
        whole, dot, _part = name.partition(".")
        groups.setdefault(whole if dot else name, []).append(name)
    return list(groups.values())
