"""What is said of a drill: each thing that can come back wrong is seen, and nothing else is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from ledger import DATASET, STEP_S, history, rows

from dbdyno.cli.drill import lines
from dbdyno.crash.drill.ground import backup_of
from dbdyno.crash.drill.judge import AFTER, BEFORE, Found, Window, judge_failover, judge_restore, verdict_of
from dbdyno.engines._mysql.backup import Backup, chain, parse_end, transactions
from dbdyno.engines.registry import engines
from dbdyno.model.drill import Check, DrillPlan, DrillResult
from dbdyno.model.engine import Installation
from dbdyno.model.errors import SandboxError, UsageError
from dbdyno.model.finding import Verdict

SENT = history([(1 + n % 2, ("insert", "transfer", "update", "delete")[n % 4], n) for n in range(20)])
KEYS = list(SENT)
# Between the acknowledgement of the twelfth and the sending of the thirteenth.
WINDOW = Window(12.6 * STEP_S, 12.8 * STEP_S)
START = "start"


def failed(found: Found) -> set[str]:
    return {check.name for check in found.checks if check.verdict is Verdict.FAIL}


def restored(count: int, *markers: str, window: Window = WINDOW) -> Found:
    return judge_restore(SENT, DATASET, rows(SENT, KEYS[:count]), (START, *markers), window)


def test_a_recovery_to_the_moment_passes() -> None:
    found = restored(12, BEFORE)
    assert failed(found) == set()
    assert (found.required, found.found, found.between, found.lost) == (12, 12, 0, 0)
    assert verdict_of(found.checks) is Verdict.PASS


def test_a_recovery_that_goes_too_far_is_caught() -> None:
    found = restored(13, BEFORE)
    assert failed(found) == {"sent after"}
    assert "1 are there, sent up to 2 ms after" in found.checks[3].says
    assert failed(restored(20, BEFORE, AFTER)) == {"marker after", "sent after"}


def test_a_recovery_that_stops_too_early_is_caught() -> None:
    found = restored(11, BEFORE)
    assert failed(found) == {"acknowledged before"}
    assert found.lost == 1
    assert failed(restored(11)) == {"marker before", "acknowledged before"}


@pytest.mark.parametrize("count", [11, 12])
def test_what_was_under_way_may_be_there_or_not(count: int) -> None:
    """The twelfth was sent before the moment and acknowledged after it."""
    found = restored(count, BEFORE, window=Window(12.1 * STEP_S, 12.2 * STEP_S))
    assert failed(found) == set()
    assert found.between == 1


def test_what_is_torn_is_caught() -> None:
    there = rows(SENT, KEYS[:12])
    found = judge_restore(SENT, DATASET, replace(there, entries=there.entries[1:]), (START, BEFORE), WINDOW)
    assert failed(found) == {"whole"}


def test_a_hole_is_more_than_a_loss() -> None:
    there = rows(SENT, [key for key in KEYS if key != KEYS[5]])
    found = judge_failover(SENT, DATASET, there, died_s=20.6 * STEP_S, loss_ms_max=60_000)
    assert failed(found) == {"whole"}
    assert found.lost == 1


def test_a_loss_is_held_against_what_is_allowed() -> None:
    died_s = 20.6 * STEP_S
    there = rows(SENT, KEYS[:17])
    assert failed(judge_failover(SENT, DATASET, there, died_s=died_s, loss_ms_max=None)) == {"lost"}
    found = judge_failover(SENT, DATASET, there, died_s=died_s, loss_ms_max=50)
    assert failed(found) == set()
    assert found.lost == 3
    assert found.lost_oldest_ms == pytest.approx(21)
    assert failed(judge_failover(SENT, DATASET, there, died_s=died_s, loss_ms_max=20)) == {"lost"}
    whole = judge_failover(SENT, DATASET, rows(SENT, KEYS), died_s=died_s, loss_ms_max=None)
    assert failed(whole) == set()
    assert whole.lost == 0


def test_an_acknowledgement_that_was_read_late_binds() -> None:
    found = judge_failover(SENT, DATASET, rows(SENT, KEYS[:19]), died_s=20.2 * STEP_S, loss_ms_max=None)
    assert failed(found) == {"lost"}


def test_no_check_is_no_pass() -> None:
    assert verdict_of([]) is Verdict.UNKNOWN
    checks = [Check(name=str(one), verdict=one, says="") for one in (Verdict.PASS, Verdict.UNKNOWN)]
    assert verdict_of(checks) is Verdict.UNKNOWN


def test_the_chain_of_logs_must_have_no_gap() -> None:
    there = ["binlog.000009", "binlog.000010", "binlog.000011"]
    assert chain("binlog.000009", "binlog.000011", there) == there
    assert chain("binlog.000010", "binlog.000010", there) == ["binlog.000010"]
    with pytest.raises(SandboxError, match=r"lacks binlog\.000010"):
        chain("binlog.000009", "binlog.000011", [there[0], there[2]])
    with pytest.raises(SandboxError, match="no moment"):
        chain("binlog.000009", "", there)


def test_where_a_backup_ends() -> None:
    assert parse_end("binlog.000002\t3351\t0-1-17\n") == ("binlog.000002", 3351, "0-1-17")
    assert parse_end("binlog.000002\t3351\n") == ("binlog.000002", 3351, "")
    with pytest.raises(SandboxError, match="does not say"):
        parse_end("")


def test_places_by_transactions() -> None:
    assert transactions("") == 0
    assert transactions("0-1-523") == 523
    assert transactions("0-1-523,1-2-7") == 530


def test_every_engine_is_known_or_said_to_be_unknown() -> None:
    assert all(backup_of(engine) is not None for engine in engines().values())


def installation(folder: Path, scheme: str) -> Installation:
    return Installation(version=1, version_text="1", bin=str(folder), origin="path", scheme=scheme)


def test_a_tool_that_is_not_there_is_named(tmp_path: Path) -> None:
    assert "mariadb-backup" in Backup().lacks(installation(tmp_path / "sbin", "mariadb"))
    assert "mysql" in Backup().lacks(installation(tmp_path / "sbin", "mysql"))
    with pytest.raises(UsageError, match="'tar'"):
        backup_of(engines()["postgresql"], "tar")


def test_words_for_people() -> None:
    result = DrillResult(
        target="sandbox:x/y",
        server="x 1",
        promise="pitr",
        plan=DrillPlan(kind="restore", control="later"),
        tool="tool",
        verdict=Verdict.FAIL,
        says="marker after: it is there",
        checks=(Check(name="marker after", verdict=Verdict.FAIL, says="it is there"),),
        moment="12:00",
        window_ms=2.5,
        restore_s=1.0,
        replay_s=2.0,
    )
    text = "\n".join(lines(result))
    for words in ("FAIL  pitr", "broken on purpose: later", "12:00, noted within 2.5 ms", "1.00 s, 2.00 s"):
        assert words in text
