"""What watching may hold up: every question's locks, as the server itself lists them."""

from __future__ import annotations

import psycopg

from conftest import Make
from dbdyno.model.engine import Engine

_HELD = """
SELECT l.mode, coalesce(n.nspname, ''), l.locktype, coalesce(r.relname, '')
FROM pg_locks l LEFT JOIN pg_class r ON r.oid = l.relation LEFT JOIN pg_namespace n ON n.oid = r.relnamespace
WHERE l.pid = pg_backend_pid() AND l.locktype <> 'virtualxid'
"""


def held_by(connection: psycopg.Connection[tuple[object, ...]], query: str) -> set[tuple[object, ...]]:
    """Locks of one question that are more than reading the catalog."""
    with connection.transaction(force_rollback=True):
        connection.execute(query)  # type: ignore[call-overload]
        found = connection.execute(_HELD).fetchall()
    return {row for row in found if (row[0], row[1]) != ("AccessShareLock", "pg_catalog")}


def test_probes_lock_nothing_but_the_catalog(make: Make, engine: Engine) -> None:
    sandbox = make("locks")
    sandbox.start()
    target = sandbox.target
    try:
        with psycopg.connect(
            host=target.host, port=target.port, user=target.user, dbname=target.database
        ) as connection:
            connection.execute("CREATE TABLE of_a_user (id int PRIMARY KEY)")
            connection.commit()
            probes = engine.probes(connection.info.server_version)
            assert len(probes) > 15
            for probe in probes:
                assert held_by(connection, probe.query) == set(), probe.name
            # The test itself sees a lock on a user's table.
            assert held_by(connection, "SELECT count(*) FROM of_a_user")
            assert held_by(connection, "SELECT pg_advisory_xact_lock(1)")
    finally:
        sandbox.stop()
