"""What a study makes of the power-loss proof of its winner."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from simulated import SimClock, SimServer, plan_of, study_of

from dbdyno.model.fact import Scalar
from dbdyno.model.finding import Verdict
from dbdyno.report import contract
from dbdyno.tune.proof import proven, unknown


class Prover:
    """Answers as it was told, and remembers what it was asked."""

    def __init__(self, facts: Mapping[str, Scalar]) -> None:
        self.facts, self.asked = dict(facts), list[dict[str, Any]]()

    def prove(self, _name: str, assignment: dict[str, Any], _space: object) -> dict[str, Scalar]:
        self.asked.append(assignment)
        return self.facts


def said(verdict: Verdict) -> dict[str, Scalar]:
    return {"power_loss": verdict, "power_loss_says": "in so many words", "power_loss_proof": "/proofs/s"}


@pytest.mark.parametrize(
    ("facts", "kept"),
    [
        (said(Verdict.PASS), True),
        (said(Verdict.FAIL), False),
        (said(Verdict.UNKNOWN), None),
        (unknown("no disk"), None),
    ],
)
def test_only_a_proof_that_passed_makes_it_safe(tmp_path: Path, facts: dict[str, Scalar], kept: bool | None) -> None:
    study = study_of(tmp_path / "s", SimServer(SimClock()), plan_of(trials_max=4, confirm_pairs=1))
    prover = Prover(facts)
    study.prover = prover  # type: ignore[assignment]
    outcome = study.run()
    others = {outcome.contract[name] for name in ("static", "read_back", "recovery")}
    if others == {Verdict.PASS} or kept is False:
        assert outcome.contract["kept"] is kept
    else:
        assert outcome.contract["kept"] is None
    assert outcome.contract["power_loss"] == facts["power_loss"]
    # The winner was tried with what the contract needs beside it.
    assert prover.asked == [{**study.bench.needed, **outcome.winner}]
    check = contract.checks(study.bench.plan, outcome)[-1]
    assert check.verdict == facts["power_loss"]
    assert str(facts["power_loss_says"]) in check.why


@pytest.mark.parametrize(("verdict", "again"), [(Verdict.PASS, 0), (Verdict.FAIL, 0), (Verdict.UNKNOWN, 1)])
def test_a_study_that_goes_on_proves_only_what_is_open(tmp_path: Path, verdict: Verdict, again: int) -> None:
    study = study_of(tmp_path / "s", SimServer(SimClock()), plan_of(trials_max=4, confirm_pairs=1))
    study.prover = Prover(said(verdict))  # type: ignore[assignment]
    study.run()
    prover = Prover(said(Verdict.PASS))
    study.prover = prover  # type: ignore[assignment]
    study.run()
    assert len(prover.asked) == again


def test_what_was_not_run_is_not_proven() -> None:
    assert not proven(unknown("no disk"))
    assert not proven(said(Verdict.UNKNOWN))
    assert proven(said(Verdict.FAIL))


@pytest.mark.parametrize(
    ("verdict", "head"),
    [
        ("pass", "# Loss of power: proven, "),
        ("fail", "# Loss of power: NOT SAFE, "),
        ("unknown", "not proven, not run"),
    ],
)
def test_the_winners_file_says_what_the_proof_showed(verdict: str, head: str) -> None:
    from dbdyno.tune.verdict import proof_words

    facts = {"power_loss": verdict, "power_loss_says": "" if verdict == "unknown" else "it said\nso."}
    words = f"# Loss of power: {proof_words(facts)}"
    assert head in words
    assert "\n" not in words
