"""The session against a server that answers from a table: what it asks, what is refused, what hangs."""

from __future__ import annotations

import datetime
import threading
from pathlib import Path
from typing import Any

import pytest
from bson import Int64, Timestamp
from fake_server import Answer, fake_server

from dbdyno.check.audit import Options, audit
from dbdyno.check.host import HostAt
from dbdyno.check.result import Checked
from dbdyno.cli.common import SystemClock
from dbdyno.engines.wiredtiger import session as session_module
from dbdyno.engines.wiredtiger.engine import ENGINE
from dbdyno.model.errors import TargetError
from dbdyno.model.finding import Verdict
from dbdyno.model.knob import Level
from dbdyno.model.record import to_json

NOW = datetime.datetime(2025, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)
MEMBERS = [{"_id": number, "name": f"db{number}:27017", "health": 1.0, "state": 1 if not number else 2,
            "stateStr": "SECONDARY" if number else "PRIMARY", "optimeDate": NOW, "self": not number,
            "syncSourceHost": "db0:27017" if number else ""} for number in range(3)]  # fmt: skip
CONFIG = {"_id": "rs0", "version": 4, "writeConcernMajorityJournalDefault": True, "settings": {"chainingAllowed": True},
          "members": [{"_id": number, "host": f"db{number}:27017", "votes": 1} for number in range(3)]}  # fmt: skip


def oplog(command: dict[str, Any]) -> dict[str, Any]:
    seconds = 1_735_000_000 + (0 if command["sort"]["$natural"] == 1 else 200_000)
    batch = [{"ts": Timestamp(seconds, 1)}]
    return {"ok": 1.0, "cursor": {"id": Int64(0), "ns": "local.oplog.rs", "firstBatch": batch}}


ANSWERS: dict[str, Answer] = {
    "buildInfo": {"version": "7.0.28", "gitVersion": "x", "modules": []},
    "serverStatus": {
        "host": "db0:27017", "version": "7.0.28", "process": "mongod", "pid": Int64(4242), "uptime": 900000.0,
        "connections": {"current": 10, "available": 51190, "totalCreated": Int64(5000)}, "localTime": NOW,
        "repl": {"setName": "rs0", "isWritablePrimary": True}, "storageEngine": {"name": "wiredTiger"},
        "wiredTiger": {"cache": {"maximum bytes configured": Int64(1 << 33), "bytes currently in the cache": 5}},
    },
    "getCmdLineOpts": {"argv": ["mongod"], "parsed": {"net": {"bindIp": "127.0.0.1"}, "storage": {"dbPath": "/data"},
                       "replication": {"replSetName": "rs0"}, "security": {"keyFile": "/k"}}},
    "getParameter": {"authenticationMechanisms": ["SCRAM-SHA-256"], "logLevel": 0, "ttlMonitorEnabled": True,
                     "featureCompatibilityVersion": {"version": "7.0"}},
    "hostInfo": {"system": {"memSizeMB": Int64(32768), "memLimitMB": Int64(16384), "numCores": 8}, "os": {}},
    "getDefaultRWConcern": {"defaultReadConcern": {"level": "local"}, "defaultWriteConcern": {"w": "majority"}},
    "getLog": {"totalLinesWritten": 0, "log": []},
    "currentOp": {"inprog": [{"op": "query", "ns": "shop.orders", "secs_running": Int64(4000), "active": True}]},
    "replSetGetStatus": {"set": "rs0", "myState": 1, "members": MEMBERS},
    "replSetGetConfig": {"config": CONFIG},
    "find": oplog,
    "listDatabases": {"databases": [{"name": "shop"}, {"name": "local"}]},
    "listCollections": {"cursor": {"id": Int64(0), "ns": "x", "firstBatch": [{"name": "orders", "type": "collection"},
                        {"name": "seen", "type": "view"}]}},
    "collStats": {"size": Int64(1 << 31), "storageSize": Int64(4 << 30), "freeStorageSize": Int64(3 << 30)},
    "aggregate": {"cursor": {"id": Int64(0), "ns": "x", "firstBatch": [
        {"name": "_id_", "accesses": {"ops": Int64(0)}}, {"name": "a_1", "accesses": {"ops": Int64(0)}}]}},
    "profile": {"was": 0, "slowms": 100},
}  # fmt: skip
READS = {*ANSWERS, "endSessions", "ping"}


def look(port: int, timeout_s: float = 20.0) -> Checked:
    target, secret = ENGINE.target(f"mongodb://127.0.0.1:{port}", {})
    options = Options(clock=SystemClock(), config=Path("/nonexistent"), token="T" + "0" * 32,
                      timeout_s=timeout_s, judge_contract=True)  # fmt: skip
    return audit(target, secret, ENGINE, HostAt(label=""), options)


def test_a_member_of_a_replica_set() -> None:
    with fake_server(ANSWERS) as (port, asked):
        checked = look(port)
    verdicts = {one.rule: one.verdict for one in checked.findings}
    facts = {fact.name: fact for fact in checked.facts}
    assert facts["replication.oplog_window_s"].value == 200_000
    assert facts["server.memory_limit_bytes"].value == 16 << 30
    failed = {rule for rule, verdict in verdicts.items() if verdict is Verdict.FAIL}
    # Whether the series is still mended depends on the day.
    assert failed - {"CONTRACT", "MONGO070"} == {"MONGO031", "MONGO033", "MONGO056"}
    assert verdicts["MONGO041"] is verdicts["MONGO042"] is verdicts["MONGO040"] is Verdict.PASS
    assert checked.level is Level.L3
    assert to_json(checked), "nothing of the driver's own types is left"
    assert {next(iter(command)) for command in asked} <= READS, "it only reads"
    limited = {next(iter(command)) for command in asked if "maxTimeMS" in command}
    assert {"serverStatus", "collStats", "aggregate", "find", "currentOp", "listDatabases"} <= limited


@pytest.fixture(scope="module")
def before() -> dict[str, Verdict]:
    with fake_server(ANSWERS) as (port, _):
        return {one.rule: one.verdict for one in look(port).findings}


@pytest.mark.parametrize("refused", sorted(set(ANSWERS) - {"buildInfo"}))
def test_what_is_refused_is_unknown_and_never_well(refused: str, before: dict[str, Verdict]) -> None:
    """Every command in turn: no verdict becomes better by not seeing."""
    with fake_server({name: answer for name, answer in ANSWERS.items() if name != refused}) as (port, _):
        checked = look(port)
    assert not [one for one in checked.problems if one.source == "server"]
    for one in checked.findings:
        if one.verdict is Verdict.PASS and one.rule != "CONTRACT":
            assert before.get(one.rule) is Verdict.PASS, f"{one.rule} passes without {refused}"
    if refused in ("getCmdLineOpts", "replSetGetConfig"):
        assert checked.level is None


def test_a_server_that_hangs_is_left_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "QUESTION_TIMEOUT_MS", -1_700)
    hangs = threading.Event()
    with fake_server(ANSWERS, hangs) as (port, _):
        target, secret = ENGINE.target(f"mongodb://127.0.0.1:{port}", {})
        with pytest.raises(TargetError, match="cannot be reached"):
            ENGINE.connect(target, secret)
        hangs.set()


def test_nobody_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "CONNECT_TIMEOUT_MS", 200)
    target, secret = ENGINE.target("mongodb://ann:geheim7@127.0.0.1:1/", {})
    with pytest.raises(TargetError) as caught:
        ENGINE.connect(target, secret)
    assert "cannot be reached" in caught.value.what
    assert "geheim7" not in f"{caught.value.what} {caught.value.found} {caught.value.todo}"
