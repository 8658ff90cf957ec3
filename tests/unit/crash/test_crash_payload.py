from __future__ import annotations

from dbdyno.crash.payload import payload


def test_contents_are_those_of_the_driver() -> None:
    # The same line stands in driver/workloads/src/ledger/payload.rs.
    assert payload(1, 2, 3, 2) == "c31ebcc69d88b474741fb0bf0d7db59e"


def test_contents_follow_from_their_place() -> None:
    assert payload(1, 2, 3, 3).startswith(payload(1, 2, 3, 2))
    assert len({payload(client, number, 1, 1) for client in range(5) for number in range(5)}) == 25
