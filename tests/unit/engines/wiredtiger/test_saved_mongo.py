"""Saved answers of serverStatus: as JSON, as a shell prints them, several over time, cut off, of two servers."""

from __future__ import annotations

import copy
import datetime
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from dbdyno.cli.explain import command
from dbdyno.engines.wiredtiger import saved
from dbdyno.explain.saved import explain_saved
from dbdyno.model.errors import UsageError

REAL = (Path(__file__).resolve().parents[3] / "fixtures/wiredtiger/serverStatus-4.2.8.json").read_text()
GIB = 1 << 30


def status(at_s: float, **changes: Any) -> dict[str, Any]:
    """A healthy server of version 7 at a time, 1000 operations a second; `changes` by path with `__`."""
    document: dict[str, Any] = {
        "host": "db1:27017",
        "version": "7.0.12",
        "process": "mongod",
        "uptime": 1000 + at_s,
        "uptimeMillis": 1000 * (1000 + at_s),
        "localTime": {"$date": int(1_780_000_000_000 + 1000 * at_s)},
        "storageEngine": {"name": "wiredTiger"},
        "connections": {"current": 100, "available": 51_000, "totalCreated": 500},
        "opcounters": {"insert": 100 * at_s, "query": 800 * at_s, "update": 90 * at_s, "delete": 10 * at_s},
        "globalLock": {"currentQueue": {"total": 0}, "activeClients": {"total": 20}},
        "flowControl": {"isLagged": False, "timeAcquiringMicros": 0},
        "wiredTiger": {
            "cache": {
                "bytes currently in the cache": 6 * GIB,
                "tracked dirty bytes in the cache": GIB // 10,
                "maximum bytes configured": 8 * GIB,
                "pages evicted by application threads": 0,
                "unmodified pages evicted": 100 * at_s,
                "modified pages evicted": 100 * at_s,
            },
            "log": {"log sync operations": 10 * at_s, "log sync time duration (usecs)": 20_000 * at_s},
            "transaction": {"transaction checkpoint currently running": 0},
            "concurrentTransactions": {
                "read": {"available": 120, "out": 8},
                "write": {"available": 120, "out": 8},
            },
        },
    }
    for path, value in changes.items():
        *folders, name = path.split("__")
        inner = document
        for one in folders:
            inner = inner[one]
        inner[name] = value
    return document


def named(tmp_path: Path, *texts: str) -> list[str]:
    paths = []
    for number, text in enumerate(texts):
        paths.append(tmp_path / f"status{number}.txt")
        paths[-1].write_text(text)
    return [one.finding.rule for one in explain_saved(paths).findings]


def dirty(at_s: float) -> dict[str, Any]:
    document = status(at_s)
    document["wiredTiger"]["cache"]["tracked dirty bytes in the cache"] = 2 * GIB
    return document


def test_a_real_answer_is_read_and_healthy(tmp_path: Path) -> None:
    assert named(tmp_path, REAL) == []
    recording = saved.recording([REAL])
    assert recording.series("wiredtiger", "oldest_pinned_s").last() == 5
    assert recording.series("wiredtiger", "checkpoint_last_s").last() == 0.023
    # 4898 syncs since the start, 9137.726 s ago.
    assert recording.series("wiredtiger", "journal_syncs").last() == pytest.approx(4898 / 9137.726)


def test_a_real_answer_with_a_dirty_cache_is_named(tmp_path: Path) -> None:
    document = json.loads(REAL)
    document["wiredTiger"]["cache"]["tracked dirty bytes in the cache"] = 0.3 * 16241393664
    assert named(tmp_path, json.dumps(document)) == ["cache-dirty-at-trigger"]


def test_lines_a_list_and_many_files_say_the_same(tmp_path: Path) -> None:
    each = [json.dumps(dirty(t)) for t in (0, 1, 2)]
    expected = ["cache-dirty-at-trigger"]
    assert named(tmp_path, "\n".join(each)) == expected
    assert named(tmp_path, "[" + ",".join(each) + "]") == expected
    assert named(tmp_path, *reversed(each)) == expected
    assert saved.recording(list(reversed(each))).series("wiredtiger", "writes").t_s.tolist() == [0, 1, 2]


def test_what_a_shell_prints_between_its_prompts() -> None:
    printed = """rs0 [direct: primary] test> db.serverStatus()
{
  host: 'db1', uptime: 100, uptimeMillis: Long('100000'), localTime: ISODate("2026-11-20T10:00:00.000Z"),
  connections: { current: 5, available: 51195, totalCreated: NumberLong(10) },
  opcounters: { insert: Long('0'), query: 5, update: 0, delete: 0 },
  note: 'a } brace',
}
rs0 [direct: primary] test> db.serverStatus() // it's the second
{
  host: 'db1', uptime: 110, uptimeMillis: Long('110000'), localTime: ISODate("2026-11-20T10:00:10.000Z"),
  connections: { current: 5, available: 51195, totalCreated: NumberLong(510) },
  opcounters: { insert: Long('100'), query: 5, update: 0, delete: 0 },
}
"""
    assert saved.recognises(printed)
    recording = saved.recording([printed])
    assert recording.duration_s == 10
    assert recording.role("sessions_opened").last() == 50
    assert recording.series("wiredtiger", "writes").last() == 10


def test_tickets_where_version_8_has_them(tmp_path: Path) -> None:
    document = status(0, globalLock__currentQueue__total=60)
    tickets = document["wiredTiger"].pop("concurrentTransactions")
    tickets["write"] = {"available": 0, "out": 14}
    document["queues"] = {"execution": tickets}
    assert named(tmp_path, json.dumps(document)) == ["tickets-exhausted"]
    tickets["write"] = {"available": 1, "out": 13}
    assert named(tmp_path, json.dumps(document)) == ["operations-queue-for-lock"]


def test_a_stall_is_found_and_explained_and_a_lull_is_none(tmp_path: Path) -> None:
    """Sixty seconds; in five of them nothing is done while clients evict, or because nobody asks."""

    def documents(*, busy: bool) -> list[dict[str, Any]]:
        found, done, evicted = [], 0, 0
        for second in range(60):
            low = 30 <= second < 35
            done, evicted = done + (20 if low else 1000), evicted + (5000 if low and busy else 0)
            one = status(second, globalLock__activeClients__total=20 if busy or not low else 0)
            one["opcounters"] = {"insert": 0, "query": done, "update": 0, "delete": 0}
            one["wiredTiger"]["cache"]["pages evicted by application threads"] = evicted
            one["wiredTiger"]["cache"]["modified pages evicted"] = evicted + 100 * second
            found.append(one)
        return found

    texts = {busy: "\n".join(json.dumps(one) for one in documents(busy=busy)) for busy in (True, False)}
    stalls = saved.recording([texts[True]]).stalls
    assert [(round(one.start_s), round(one.end_s)) for one in stalls] == [(29, 34)]
    assert named(tmp_path, texts[True])[0] == "clients-evict"
    assert saved.recording([texts[False]]).stalls == ()
    assert named(tmp_path, texts[False]) == []


def test_a_server_started_anew_gives_no_rate() -> None:
    first, second = status(100), status(110)
    second["uptimeMillis"] = 3000
    recording = saved.recording([json.dumps(first), json.dumps(second)])
    assert [one.kind for one in recording.events] == ["restart"]
    assert np.isnan(recording.throughput.values).all()
    assert "wiredtiger.writes" not in recording.names()


def test_the_same_moment_twice_counts_once() -> None:
    text = json.dumps(status(5))
    assert saved.recording([text, text, json.dumps(status(6))]).throughput.t_s.tolist() == [0, 1]


def test_two_servers_are_not_mixed() -> None:
    other = copy.deepcopy(status(1, host="db2:27017"))
    with pytest.raises(UsageError, match="several servers"):
        saved.recording([json.dumps(status(0)), json.dumps(other)])


@pytest.mark.parametrize("text", ["", "{", "opcounters", '{"opcounters": {}}', REAL[:-200], "{ opcounters: [Object] }"])
def test_no_answer_is_not_recognised(text: str) -> None:
    assert not saved.recognises(text)
    with pytest.raises(UsageError):
        saved.recording([text])


@pytest.mark.parametrize("piece", ['"a\\', "{ '", "{", '{"a":'])
def test_a_text_without_an_end_takes_no_longer_than_its_length(piece: str) -> None:
    """Searched from each of its quotes anew it would take minutes."""
    assert not saved.recognises("opcounters {" + piece * 100_000)


def test_the_command_explains_it_and_refuses_half_of_it(tmp_path: Path) -> None:
    path = tmp_path / "status.json"
    path.write_text(json.dumps(dirty(0)))
    done = CliRunner().invoke(command, ["--status", str(path)])
    assert "cache" in done.output
    assert "25%" in done.output
    path.write_text(REAL[:-200])
    assert isinstance(CliRunner().invoke(command, ["--status", str(path)]).exception, UsageError)


def test_dates_with_and_without_a_zone() -> None:
    first, second = status(0), status(0)
    first["localTime"] = "2020-09-10T14:39:52-03:00"
    second["localTime"] = {"$date": datetime.datetime(2020, 9, 10, 17, 39, 57).isoformat() + "Z"}
    assert saved.recording([json.dumps(first), json.dumps(second)]).duration_s == 5
