"""Dips and phases: on series whose truth is known, at every size of server, and none where there is none."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dbdyno.stats.phases import PhaseKind, phases
from dbdyno.stats.stalls import dips


def counted(rate: float | np.ndarray, seconds: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Independent arrivals, counted by the second."""
    rng = np.random.default_rng(seed)
    return np.arange(1.0, seconds + 1), rng.poisson(np.broadcast_to(rate, seconds)).astype(float)


@pytest.mark.parametrize("rate", [50.0, 1000.0, 100_000.0])
def test_a_dip_has_start_depth_and_duration_at_any_rate(rate: float) -> None:
    t_s, values = counted(rate, 180, 1)
    values[90:101] = rate * 0.02
    [dip] = dips(t_s, values)
    assert dip.start_s == pytest.approx(90, abs=1)
    assert dip.end_s == pytest.approx(101, abs=1)
    assert dip.level == pytest.approx(rate, rel=0.2)
    assert dip.lost == pytest.approx(0.98 * 11 * rate, rel=0.25)
    assert not dip.at_start
    assert not dip.at_end


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("rate", [3.0, 60.0, 2000.0])
def test_noise_alone_has_no_dip(rate: float, seed: int) -> None:
    assert dips(*counted(rate, 300, seed)) == []


@pytest.mark.parametrize("seed", range(10))
def test_a_noisy_workload_has_no_dip(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = 1000 * np.exp(rng.normal(0, 0.25, 300))
    assert dips(np.arange(1.0, 301), values) == []


def test_stalls_that_fill_half_of_a_short_run_are_found() -> None:
    """The throttled disk: two stalls of 11 s and 9 s in 40 s."""
    t_s, values = counted(1500.0, 40, 4)
    values[6:17] = 10
    values[24:33] = 0
    found = dips(t_s, values)
    assert [(round(one.start_s), round(one.end_s)) for one in found] == [(6, 17), (24, 33)]


def test_a_step_up_is_not_a_dip_before_it_and_a_step_down_none_after_it() -> None:
    t_s, values = counted(np.repeat([500.0, 1000.0, 400.0], 100), 300, 5)
    assert dips(t_s, values) == []


def test_few_transactions_a_second_are_put_together() -> None:
    t_s, values = counted(4.0, 600, 6)
    values[300:360] = 0
    [dip] = dips(t_s, values)
    assert 290 <= dip.start_s <= 305
    assert 355 <= dip.end_s <= 370


def test_a_dip_at_an_edge_says_so() -> None:
    t_s, values = counted(1000.0, 120, 7)
    values[:4] = 100
    values[-5:] = 0
    first, last = dips(t_s, values)
    assert first.at_start
    assert last.at_end


def test_holes_are_bridged() -> None:
    t_s, values = counted(1000.0, 120, 8)
    values[40:50] = np.nan
    assert dips(t_s, values) == []
    assert dips(np.empty(0), np.empty(0)) == []
    assert dips(t_s, np.full(120, np.nan)) == []


def test_phases_of_a_run_that_warms_up_and_degrades() -> None:
    rates = np.concatenate([np.linspace(200, 1000, 60), np.full(200, 1000.0), np.full(150, 400.0)])
    found = phases(*counted(rates, len(rates), 9))
    assert [one.kind for one in found] == [PhaseKind.WARM_UP, PhaseKind.STEADY, PhaseKind.DEGRADED]
    assert found[-1].start_s == pytest.approx(260, abs=6)
    assert found[-1].level == pytest.approx(400, rel=0.1)
    assert found[-1].before == pytest.approx(1000, rel=0.1)


@pytest.mark.parametrize("seed", range(10))
def test_a_steady_run_is_one_steady_phase(seed: int) -> None:
    [only] = phases(*counted(800.0, 600, seed))
    assert only.kind == PhaseKind.STEADY


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(st.floats(0, 1e9), st.just(float("nan"))), max_size=80))
def test_any_series_gives_an_answer(values: list[float]) -> None:
    t_s, series = np.arange(1.0, len(values) + 1), np.array(values, dtype=np.float64)
    for dip in dips(t_s, series):
        assert dip.end_s > dip.start_s
        assert dip.lost > 0
    phases(t_s, series)
