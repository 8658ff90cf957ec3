"""BEGIN and COMMIT that travel with other statements: the same statements and answers in fewer requests, on real
servers of both wire protocols."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from sandbox_tools import ask, temporary_home
from wire_servers import Done, Proxy, Server, done, mariadb

from dbdyno.cli.common import SystemClock
from dbdyno.engines.registry import engine_named
from dbdyno.sandbox.options import SandboxOptions
from dbdyno.sandbox.sandbox import create

EVENTS = 60
SIZES: dict[str, dict[str, str]] = {
    "tpcb": {},
    "oltp_read_write": {"table_size": "1000"},
    "heavy_update": {},
}
CROWDED = {"table_size": "3"}


@dataclass
class Place:
    """A server, and how to reach it through a proxy."""

    target: dict[str, Any]
    address: str
    ask: Callable[[str], Any]
    commits_too: bool
    """COMMIT goes with the last write; else only BEGIN goes with the first statement."""


@pytest.fixture(scope="module")
def first() -> Iterator[Place]:
    clock = SystemClock()
    engine = engine_named("postgresql")
    if not engine.recipe().installations():
        pytest.skip("no server of this engine is installed")
    with temporary_home(clock) as home:
        box = create(home, engine, "pipeline", SandboxOptions(), clock=clock)
        with box.held():
            box.start()
            target = box.target
            words = {
                "dialect": "postgresql", "host": target.host, "port": target.port, "user": target.user,
                "password": box.secret.reveal(), "database": target.database,
            }  # fmt: skip
            address = f"{target.host}/.s.PGSQL.{target.port}"
            yield Place(words, address, lambda sql: ask(box, sql)[0][0], commits_too=True)


@pytest.fixture(scope="module")
def second() -> Iterator[Place]:
    with mariadb() as server:
        yield Place(server.target(), str(server.socket), _asker(server), commits_too=False)


def _asker(server: Server) -> Callable[[str], Any]:
    return lambda sql: server.ask(sql)[0][0]


@pytest.fixture(params=["first", "second"])
def place(request: pytest.FixtureRequest) -> Place:
    found = request.getfixturevalue(request.param)
    assert isinstance(found, Place)
    return found


def _counted(place: Place, workload: str, *, pipeline: bool) -> tuple[Done, int]:
    """A run of one connection through a proxy, and the requests that it took."""
    with Proxy(place.address) as proxy:
        target = {**place.target, "host": "127.0.0.1", "port": proxy.port}
        run = done(
            target, "run", workload, options=SIZES[workload], events=EVENTS, threads=1, workers=1, pipeline=pipeline
        )
        return run, proxy.sent


@pytest.mark.parametrize("workload", SIZES)
def test_the_same_statements_need_fewer_requests(place: Place, workload: str) -> None:
    done(place.target, "load", workload, options=SIZES[workload])
    alone, requests = _counted(place, workload, pipeline=False)
    together, fewer = _counted(place, workload, pipeline=True)
    assert together.count == alone.count == EVENTS
    # The second run writes what is there already, which some servers call no change.
    counts = [run.of("summary")[-1]["statements"] for run in (alone, together)]
    assert counts[0]["read"] == counts[1]["read"]
    assert counts[0]["write"] + counts[0]["other"] == counts[1]["write"] + counts[1]["other"]
    transactions = EVENTS if workload != "heavy_update" else 1  # Of these, some only read and have no BEGIN.
    assert requests - fewer >= transactions * (2 if place.commits_too else 1)
    assert [one["pipeline"] for one in together.of("phase")] == [True, True]
    assert [one["pipeline"] for one in alone.of("phase")] == [False, False]
    assert set(done(place.target, "check", workload, options=SIZES[workload]).verdicts.values()) == {"pass"}


def test_all_kinds_of_transactions_keep_their_conditions(place: Place) -> None:
    done(place.target, "load", "tpcc")
    run = done(place.target, "run", "tpcc", events=300, threads=6, workers=2, pipeline=True)
    assert run.count + run.errors.get("given_up", 0) == 300
    kinds = run.of("summary")[-1]["transactions"]
    assert all(one["count"] > 0 for one in kinds.values())
    assert set(done(place.target, "check", "tpcc").verdicts.values()) == {"pass"}


def test_nothing_of_a_failed_transaction_is_committed(place: Place) -> None:
    """Connections that delete and insert the same three rows meet all the time. A COMMIT that took effect although the
    INSERT before it had failed would leave the table without the row."""
    done(place.target, "load", "oltp_write_only", options=CROWDED, restart=True)
    run = done(
        place.target, "run", "oltp_write_only", options=CROWDED, events=60, threads=3, workers=2,
        retries_max=1000, pipeline=True,
    )  # fmt: skip
    assert run.count == 60
    assert run.errors.get("duplicate_key", 0) + run.errors.get("deadlock", 0) > 0
    assert place.ask("SELECT count(*) FROM sbtest1") == 3
    assert set(done(place.target, "check", "oltp_write_only", options=CROWDED).verdicts.values()) == {"pass"}
