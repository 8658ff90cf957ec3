"""The causes of this engine beside each other: each example is explained by its own cause first."""

from __future__ import annotations

import pytest

from dbdyno.engines.wiredtiger.diagnoses import _status
from dbdyno.explain.diagnose import diagnose
from dbdyno.explain.registry import diagnoses
from dbdyno.model.diagnosis import Diagnosis

OWN = tuple(one for one in diagnoses("wiredtiger") if one not in diagnoses(""))


def test_they_are_found() -> None:
    assert {"clients-evict", "tickets-exhausted", "checkpoint-dips", "flow-control-throttles"} <= {
        one.id for one in OWN
    }


@pytest.mark.parametrize("diagnosis", OWN, ids=lambda one: one.id)
def test_the_bad_example_is_named_before_all_others(diagnosis: Diagnosis) -> None:
    ranked, unknown = diagnose(diagnosis.bad(), OWN)
    assert ranked[0].finding.rule == diagnosis.id
    assert not unknown


@pytest.mark.parametrize("diagnosis", OWN, ids=lambda one: one.id)
def test_the_good_example_is_a_stall_of_something_else(diagnosis: Diagnosis) -> None:
    ranked, _ = diagnose(diagnosis.good(), OWN)
    named = {one.finding.rule for one in ranked}
    assert diagnosis.id not in named
    assert _status.made().stalls


def test_a_stall_with_everything_as_usual_has_no_cause_here() -> None:
    assert diagnose(_status.made(), OWN) == ([], [])


def test_a_cause_stands_before_the_tickets_that_it_used_up() -> None:
    both = _status.made(
        cache_dirty_bytes=2.0 * (1 << 30), write_tickets_free=0, write_tickets_used=128, queued=60, writes=20
    )
    ranked, _ = diagnose(both, OWN)
    assert [one.finding.rule for one in ranked] == ["cache-dirty-at-trigger", "tickets-exhausted"]
