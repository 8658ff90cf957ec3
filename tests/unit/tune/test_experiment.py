"""Ladder and sweep on the simulated server: what helps is kept, what harms or breaks the contract is not."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulated import MACHINE, SPACE, SimClock, SimServer, plan_of

from dbdyno.model.errors import UsageError
from dbdyno.model.experiment import Axis, ExperimentOutcome, Sweep
from dbdyno.model.trial import Comparison
from dbdyno.report.experiment import experiment_text, render_experiment, view_experiment
from dbdyno.tune.contract import needed
from dbdyno.tune.experiment import PLAN, Experiment, Ground
from dbdyno.tune.ladder import LadderRun, parse_ladder
from dbdyno.tune.store import StudyStore, open_study
from dbdyno.tune.study import prepare_space
from dbdyno.tune.sweep import SweepRun, crossovers, name_of, parse_axis, points, quantity
from dbdyno.tune.trial import Bench

LADDER = """
title = "Cache first"
[base]
set = { cache = 20 }
[[rung]]
name = "larger cache"
set = { cache = 400 }
[[rung]]
name = "slow compression"
set = { compress = "slow" }
[[rung]]
name = "nothing"
set = { noise_only = 0.7 }
[[rung]]
name = "larger log"
set = { log_size = 1000 }
"""


def experiment_of(path: Path, server: SimServer, *, resume: bool = False, **changes: Any) -> Experiment:
    plan = plan_of(**changes)
    store = StudyStore(path)
    if not resume:
        store.create(plan)
    space = prepare_space(SPACE, server.look(), plan.contract, MACHINE, restart=True)
    bench = Bench(
        plan=plan, space=space, contract=plan.contract, needed=needed(space, plan.contract), controller=server,
        store=store, clock=server.clock, probe=lambda: {},
    )  # fmt: skip
    trials = open_study(path).trials if resume else []
    return Experiment(store, lambda _: Ground(bench=bench), list(trials))


def climb(path: Path, server: SimServer, text: str = LADDER, **changes: Any) -> ExperimentOutcome:
    return LadderRun(experiment_of(path, server, **changes), parse_ladder(text, "x.toml"), pairs=4, seed=1).run()


def test_a_ladder_keeps_what_helps_and_nothing_else(tmp_path: Path) -> None:
    outcome = climb(tmp_path, SimServer(SimClock()))
    assert [one.kept for one in outcome.rungs] == [True, False, False, True]
    assert outcome.kept.settings == {"cache": 400, "log_size": 1000}
    # Later rungs stand on what was kept, and on nothing that was dropped.
    assert outcome.rungs[-1].without.configuration.settings == {"cache": 400}
    assert outcome.total is not None
    product = math.prod(one.comparison.ratio for one in outcome.rungs if one.kept and one.comparison)
    assert outcome.total.ratio == pytest.approx(product, rel=0.05)


def test_a_drift_of_the_machine_keeps_nothing(tmp_path: Path) -> None:
    """The negative control: a machine that gets faster by itself must not make a change look good."""
    text = '[[rung]]\nname = "a"\nset = { noise_only = 0.7 }\n[[rung]]\nname = "b"\nset = { noise_only = 0.9 }\n'
    outcome = climb(tmp_path, SimServer(SimClock(), drift=lambda at_s: at_s / 1000.0), text)
    assert not any(one.kept for one in outcome.rungs)


def test_a_change_that_breaks_the_contract_never_reaches_the_server(tmp_path: Path) -> None:
    server = SimServer(SimClock())
    outcome = climb(tmp_path, server, '[[rung]]\nname = "fast and loose"\nset = { sync = "off" }\n')
    assert not outcome.rungs[0].kept
    assert "break the contract" in outcome.rungs[0].with_.error
    assert all(asked.get("sync") != "off" for asked in server.asked)


def test_an_interrupted_ladder_goes_on_where_it_was(tmp_path: Path) -> None:
    whole = climb(tmp_path / "whole", SimServer(SimClock(), noise=0.0))
    cut = SimServer(SimClock(), noise=0.0, interrupt_at=7)
    with pytest.raises(KeyboardInterrupt):
        climb(tmp_path / "cut", cut)
    again = experiment_of(tmp_path / "cut", SimServer(SimClock(), noise=0.0), resume=True)
    resumed = LadderRun(again, parse_ladder(LADDER, "x.toml"), pairs=4, seed=1).run()
    assert [(one.name, one.kept) for one in resumed.rungs] == [(one.name, one.kept) for one in whole.rungs]
    assert len(again.trials) == len(open_study(tmp_path / "whole").trials)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "no rung"),
        ("[[rung]]\nname = 'a'\n", "changes nothing"),
        ("[[rung]]\nset = { cache = 1 }\n", "no name"),
        ("[[rung]]\nname = 'a'\nsett = { cache = 1 }\n", "sett"),
        ("[[rung]]\nname = 'a/b'\nset = { cache = 1 }\n", "name"),
        ("[[rung]]\nname = 'a'\nset = { cache = [1] }\n", "cache"),
        ("[[rung]]\nname = 'a'\nset = { cache = 1 }\n[[rung]]\nname = 'a'\nset = { cache = 2 }\n", "two rungs"),
        ("rung = 3", "no rung"),
        ("not toml", "TOML"),
    ],
)
def test_a_wrong_ladder_is_refused_with_the_word_that_is_wrong(text: str, word: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_ladder(text, "x.toml")
    assert word in str(caught.value)


SWEEP = Sweep(axes=(Axis(name="compress", values=("off", "fast")), Axis(name="cache", values=(10, 100, 400))))


def test_a_sweep_finds_the_planted_best_point(tmp_path: Path) -> None:
    run = SweepRun(experiment_of(tmp_path, SimServer(SimClock())), SWEEP, repeats=3, seed=1)
    outcome = run.run()
    assert len(outcome.arms) == 6
    assert len(outcome.comparisons) == 5
    best = max(outcome.arms, key=lambda one: one.tps_charged or 0.0)
    assert best.name == "compress=fast,cache=400"
    assert outcome.crossovers == ()


def test_a_fraction_of_a_grid_is_balanced_and_holds_the_first_point() -> None:
    axes = tuple(Axis(name=name, values=(1, 2, 3, 4)) for name in "abc")
    chosen = points(Sweep(axes=axes, fraction=0.25), seed=3)
    assert len(chosen) == 16
    assert chosen[0] == (1, 1, 1)
    for at in range(3):
        counts = [sum(point[at] == value for point in chosen) for value in (1, 2, 3, 4)]
        assert max(counts) - min(counts) <= 1


def comparison(ratio: float, shown: bool = True) -> Comparison:
    verdict = ("faster" if ratio > 1 else "slower") if shown else "no difference shown"
    return Comparison(a="a", b="b", figure="tps", pairs=3, ratio=ratio, low=ratio, high=ratio, verdict=verdict)


@given(st.floats(0.55, 0.95), st.floats(1.05, 1.9))
def test_a_crossover_lies_between_the_values_where_the_better_one_changes(below: float, above: float) -> None:
    sweep = Sweep(axes=(Axis(name="page", values=("4k", "16k")), Axis(name="pool", values=("1G", "4G"))))
    ratios = {"1G": below, "4G": above}

    def over(a: str, b: str) -> Comparison | None:
        page_a, pool_a = (word.partition("=")[2] for word in a.split(","))
        page_b, pool_b = (word.partition("=")[2] for word in b.split(","))
        return comparison(ratios[pool_a]) if (page_a, page_b) == ("4k", "16k") and pool_a == pool_b else None

    (found,) = [one for one in crossovers(sweep, points(sweep, 1), over) if one.of == "page"]
    assert (found.a, found.b, found.low, found.high) == ("4k", "16k", "1G", "4G")
    assert found.at is not None
    assert 2**30 < found.at < 2**32
    assert found.shown


def test_quantities_and_axes() -> None:
    assert quantity("512M") == 512 * 2**20
    assert quantity("4KiB") == 4096
    assert quantity("zstd") is None
    assert parse_axis("a=1,2.5,x").values == (1, 2.5, "x")
    assert parse_axis("option:scale=1,2").option
    for wrong in ("a", "=1", "a=", "a=1,1"):
        with pytest.raises(UsageError):
            parse_axis(wrong)
    assert "/" not in name_of(Sweep(axes=(Axis(name="path", values=("/a/b",)),)), ("/a/b",))


@pytest.mark.parametrize("kind", ["ladder", "sweep"])
def test_pages_and_texts_hold_every_arm(tmp_path: Path, kind: str) -> None:
    from dbdyno.model.record import to_json

    experiment = experiment_of(tmp_path, SimServer(SimClock()))
    design = parse_ladder(LADDER, "x.toml") if kind == "ladder" else SWEEP
    (tmp_path / PLAN).write_bytes(to_json({"kind": kind, "design": design}))
    run = (
        LadderRun(experiment, parse_ladder(LADDER, "x.toml"), 2, 1)
        if kind == "ladder"
        else SweepRun(experiment, SWEEP, 2, 1)
    )
    run.run()
    view = view_experiment(tmp_path)
    names = ["larger cache", "nothing"] if kind == "ladder" else ["compress=off,cache=10", "compress=fast,cache=400"]
    page, text = render_experiment(view), experiment_text(view)
    for name in names:
        assert name in page
        assert name in text
    assert "<script src" not in page
