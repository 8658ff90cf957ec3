"""A real cluster of three nodes: a healthy one is told nothing, each fault that was planted is found by its rule, what
the rules advise mends it, and a load meets the cluster as it is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pymysql
import pytest
from galera_tools import SECRET, Node, cluster, missing
from pymysql.constants import ER

from dbdyno.check.audit import Options, audit
from dbdyno.check.host import HostAt
from dbdyno.check.result import Checked
from dbdyno.cli.common import SystemClock
from dbdyno.engines._mysql.rules import galera002
from dbdyno.engines.registry import engine_named
from dbdyno.model.errors import DynoError
from dbdyno.model.fact import Fact
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Severity, Verdict
from dbdyno.run.driver import find_driver

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing() or "there is all it takes")
ENGINE = engine_named("mariadb")
OF_CLUSTERS = {*(f"GALERA00{number}" for number in (1, 2, 3, 4, 5, 7, 8)), "MY070", "MY071", "MY072"}
"""GALERA006 is about a setting that this vendor has not."""
LOAD = ["oltp_write_only", "--tables=1", "--table_size=200", "--threads", "2"]


@pytest.fixture(scope="module")
def nodes(clock: SystemClock) -> Iterator[list[Node]]:
    """The third has a setting that only a start changes."""
    with cluster(clock, [{}, {}, {"innodb_autoinc_lock_mode": 1}]) as nodes:
        yield nodes


def look(node: Node, clock: SystemClock) -> Checked:
    options = Options(clock=clock, config=Path("/nonexistent"), token="T" + "0" * 32, timeout_s=60.0)
    return audit(node.target, SECRET, ENGINE, HostAt(label=""), options)


def told(checked: Checked, verdict: Verdict = Verdict.FAIL) -> dict[str, Severity]:
    return {one.rule: one.severity for one in checked.of(verdict) if one.rule in OF_CLUSTERS}


def advice(checked: Checked, rule: str) -> str:
    """The statement that a rule would have one type."""
    return next(fix.live for one in checked.of(Verdict.FAIL) if one.rule == rule for fix in one.fixes).split(";")[0]


def dyno(home: Path, *words: str, status: int = 0) -> str:
    environment = {**os.environ, "HOME": str(home), "DYNO_HOME": str(home / "dyno"), "NO_COLOR": "1"}
    environment["MYSQL_PWD"] = SECRET.reveal() or ""
    command = [sys.executable, "-c", "from dbdyno.cli.main import main; main()", *words]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == status, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


def test_1_a_healthy_node_is_told_nothing(nodes: list[Node], clock: SystemClock) -> None:
    checked = look(nodes[0], clock)
    assert told(checked) == {}
    assert set(told(checked, Verdict.PASS)) == OF_CLUSTERS
    assert set(told(look(nodes[2], clock))) == {"MY072"}


def test_2_the_probe_sees_the_cluster(nodes: list[Node]) -> None:
    nodes[0].run("CREATE TABLE seen (a INT PRIMARY KEY)", "INSERT INTO seen VALUES (1)")
    session = ENGINE.connect(nodes[0].target, SECRET)
    try:
        probe = next(one for one in ENGINE.probes(session.version) if one.name == "galera")
        (row,) = session.ask(probe)
    finally:
        session.close()
    assert set(row) == {column.name for column in probe.columns}, "each column is answered"
    assert (row["wsrep_cluster_size"], row["wsrep_local_state"]) == (3, 4)
    assert (row["wsrep_connected"], row["wsrep_ready"]) == (1, 1)
    assert isinstance(row["wsrep_replicated_bytes"], int)
    assert row["wsrep_replicated_bytes"] > 0


def test_3_what_was_set_wrong_is_found_and_mended(nodes: list[Node], clock: SystemClock) -> None:
    node = nodes[1]
    node.run("SET GLOBAL wsrep_desync = ON", "SET GLOBAL wsrep_sst_method = 'rsync'")
    node.wait(clock, local_state_comment="Donor/Desynced")
    checked = look(node, clock)
    assert set(told(checked)) == {"GALERA007", "GALERA008", "MY070"}
    assert told(checked)["MY070"] is Severity.WARNING, "the cluster works; the node lags"
    node.run(advice(checked, "GALERA007"), advice(checked, "GALERA008"))
    node.wait(clock, local_state_comment="Synced")
    assert told(look(node, clock)) == {}


def test_4_a_slow_node_stops_the_others(nodes: list[Node], clock: SystemClock) -> None:
    writer, slow = nodes[:2]
    writer.run("CREATE TABLE paced (a INT PRIMARY KEY)")
    slow.run(
        "SET GLOBAL slave_run_triggers_for_rbr = 'YES'",
        "SET SESSION wsrep_on = OFF",
        "CREATE TRIGGER slow AFTER INSERT ON paced FOR EACH ROW SET @slept = SLEEP(0.1)",
        "SET GLOBAL wsrep_provider_options = 'gcs.fc_limit=1'",
        "FLUSH STATUS",
    )
    writer.run("FLUSH STATUS", *(f"INSERT INTO paced VALUES ({number})" for number in range(16)))
    checked = look(writer, clock)
    assert set(told(checked)) == {"GALERA004", "MY071"}
    writer.run(advice(checked, "GALERA004"))
    assert set(told(look(writer, clock))) == {"MY071"}, "the limit was raised, the pauses remain told"
    slow.wait(clock, local_recv_queue="0")
    checked = look(slow, clock)
    assert {"GALERA003", "GALERA004", "MY071"} == set(told(checked))
    slow.run(advice(checked, "GALERA003"), advice(checked, "GALERA004"), "SET SESSION wsrep_on = OFF",
             "DROP TRIGGER slow")  # fmt: skip
    assert set(told(look(slow, clock))) == {"MY071"}
    for node in (writer, slow):
        node.run("FLUSH STATUS")
        assert told(look(node, clock)) == {}, "nothing was paused since"


def test_5_nodes_that_write_the_same_row(nodes: list[Node], clock: SystemClock) -> None:
    first, second = nodes[:2]
    first.run("CREATE TABLE shared (a INT PRIMARY KEY, b INT)", "INSERT INTO shared VALUES (1, 0)")
    refused = 0
    with first.connected() as here, second.connected() as there:
        there.execute("SET SESSION wsrep_sync_wait = 15")
        there.execute("SELECT * FROM shared")
        there.execute("SET SESSION wsrep_sync_wait = 0")
        for _ in range(110):
            try:
                there.execute("BEGIN")
                there.execute("UPDATE shared SET b = b + 1")
                here.execute("UPDATE shared SET b = b + 1")
                there.execute("COMMIT")
            except pymysql.OperationalError as error:
                refused += error.args[0] == ER.LOCK_DEADLOCK
    assert refused >= 100
    assert set(told(look(second, clock))) == {"GALERA005"}
    assert told(look(first, clock)) == {}, "its own transactions went through"


def test_6_a_cache_that_is_too_small_for_the_traffic(nodes: list[Node], clock: SystemClock) -> None:
    """What the node says, but as if it had run for hours with more traffic: a test has no hour."""
    checked = look(nodes[0], clock)
    later = {"status.uptime": 7200, "status.wsrep_replicated_bytes": 400 << 20}
    facts = Facts([Fact(name=one.name, value=later.get(one.name, one.value), source=one.source, unknown=one.unknown)
                   for one in checked.facts])  # fmt: skip
    found = galera002.check(facts)
    assert found is not None
    assert "gcache.size of 8 MiB holds 2 minutes" in found.says
    assert "gcache.size=1G" in found.fixes[0].live


def test_7_a_load_wants_permission_and_reaches_all_nodes(nodes: list[Node], tmp_path: Path) -> None:
    try:
        find_driver()
    except DynoError as error:
        pytest.skip(f"no load driver: {error}")
    words = ("bench", nodes[1].url, *LOAD, "--events", "40", "--no-sample")
    assert "--allow load" in dyno(tmp_path, *words, status=2)
    dyno(tmp_path, *words, "--allow", "load")
    sums = []
    for node in nodes:
        with node.connected() as cursor:
            cursor.execute("SET SESSION wsrep_sync_wait = 15")
            cursor.execute("SELECT COUNT(*), SUM(k) FROM sbtest1")
            sums.append(cursor.fetchone())
    assert sums[0] == sums[1] == sums[2]
    assert sums[0][0] == 200


def test_8_a_lost_majority(nodes: list[Node], clock: SystemClock, tmp_path: Path) -> None:
    left, lost, leaving = nodes
    leaving.process.send_signal(signal.SIGTERM)
    leaving.process.wait(60)
    left.wait(clock, cluster_size="2")
    assert set(told(look(left, clock))) == {"GALERA001"}
    # No goodbye, and no patience with it.
    left.run("SET GLOBAL wsrep_provider_options = 'evs.keepalive_period=PT0.2S;evs.suspect_timeout=PT0.7S'")
    lost.kill()
    left.wait(clock, cluster_status="non-Primary")
    checked = look(left, clock)
    assert told(checked) == {"MY070": Severity.CRITICAL}, "a part of a cluster says nothing of its size"
    assert not [one.what for one in checked.problems if one.fatal]
    unseen = {one.rule: one.says for one in checked.of(Verdict.UNKNOWN)}
    assert "1047" in unseen["MY050"], "tables that are not served are not healthy"
    words = ("bench", left.url, *LOAD, "--events", "1", "--allow", "load", "--no-sample")
    assert "no part of a working cluster" in dyno(tmp_path, *words, status=2)
