"""Series of several probes in one chart."""

from __future__ import annotations

import numpy as np

from dbdyno.report.panels import aligned
from dbdyno.samples.series import Series


def series(t_s: list[float], values: list[float]) -> Series:
    return Series(np.array(t_s), np.array(values), "per s")


def test_two_probes_of_one_second_are_one_moment_so_that_lines_can_be_drawn() -> None:
    t_s, (a, b) = aligned([series([1.0, 2.0, 3.0], [1, 2, 3]), series([1.05, 2.2, 2.99], [4, 5, 6])])
    assert t_s.tolist() == [1.0, 2.0, 2.99]
    assert a.tolist() == [1, 2, 3]
    assert b.tolist() == [4, 5, 6]


def test_moments_that_are_far_apart_stay_apart() -> None:
    t_s, (a, b) = aligned([series([1.0, 3.0], [1, 3]), series([1.0, 2.0, 3.0], [4, 5, 6])])
    assert t_s.tolist() == [1.0, 2.0, 3.0]
    assert np.isnan(a[1])
    assert b.tolist() == [4, 5, 6]


def test_a_single_value_is_no_step() -> None:
    t_s, (a, b) = aligned([series([1.0], [1]), series([1.2], [2])])
    assert t_s.tolist() == [1.0, 1.2]
    assert (a[0], b[1]) == (1, 2)
