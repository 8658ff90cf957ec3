"""What saved status texts alone explain, and what they do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbdyno.engines.innodb import saved
from dbdyno.engines.myrocks import saved as saved_rocks
from dbdyno.explain.diagnose import diagnose
from dbdyno.explain.registry import diagnoses
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.recording import MemoryRecording, MissingSeries

FIXTURES = Path(__file__).parents[2] / "fixtures"
TEXTS = {path.stem: path.read_text(encoding="utf-8") for path in sorted((FIXTURES / "innodb-status").glob("*.txt"))}
ROCKS = (FIXTURES / "rocksdb-status" / "mariadb-10.11.txt").read_text(encoding="utf-8")


def findings(recording: MemoryRecording, engine: str = "innodb") -> dict[str, Finding]:
    ranked, _ = diagnose(recording, diagnoses(engine))
    return {one.finding.rule: one.finding for one in ranked}


def unknown(recording: MemoryRecording) -> set[str]:
    return {one.rule for one in diagnose(recording, diagnoses("innodb"))[1]}


def at(text: str, second: int) -> str:
    """The same text, some seconds later."""
    return text.replace("170829 11:50:33", f"170829 11:50:{second:02}")


def aged(text: str, age: int, lsn: int = 160_000_000) -> str:
    return (
        text.replace("Log sequence number 1602283", f"Log sequence number {lsn}")
        .replace("Last checkpoint at  1602283", f"Last checkpoint at  {lsn - age}")
        .replace("Checkpoint age        0", f"Checkpoint age        {age}")
    )


@pytest.mark.parametrize("name", TEXTS)
def test_each_servers_text_is_taken_and_gives_no_alarm(name: str) -> None:
    assert saved.recognises(TEXTS[name])
    assert not saved_rocks.recognises(TEXTS[name])
    recording = saved.recording([TEXTS[name]])
    assert recording.duration_s == 0
    assert recording.series("innodb_status", "history_list_length").last() >= 0
    assert findings(recording) == {}
    # Without settings most cannot be judged, and that is said.
    assert "binlog-sync-bound" in unknown(recording)


def test_an_age_at_its_limit_is_named() -> None:
    healthy, full = aged(TEXTS["xtradb-5.5"], 4_000_000), aged(TEXTS["xtradb-5.5"], 7_700_000)
    assert findings(saved.recording([healthy])) == {}
    found = findings(saved.recording([full]))
    assert found["checkpoint-age-at-limit"].severity == Severity.WARNING
    assert "99%" in found["checkpoint-age-at-limit"].says


def test_the_age_without_a_limit_in_the_text_is_unknown_and_not_healthy() -> None:
    assert "checkpoint-age-at-limit" in unknown(saved.recording([TEXTS["mysql-8.0"]]))


def test_several_texts_give_rates_and_their_order() -> None:
    texts = [
        aged(at(TEXTS["xtradb-5.5"], second), 1_000_000 * (second - 30), lsn=100_000_000 + 2_000_000 * second)
        for second in (34, 32, 36)
    ]
    recording = saved.recording(["".join(texts)])
    assert recording.duration_s == 4
    log = recording.role("wal_bytes")
    assert list(log.t_s) == [0, 2, 4]
    assert list(log.values[1:]) == [2e6, 2e6]
    assert list(recording.role("checkpoint_distance_bytes").values) == [2e6, 4e6, 6e6]


def test_a_counter_that_fell_gives_a_hole() -> None:
    text = TEXTS["xtradb-5.5"]
    restarted = saved.recording([aged(at(text, 33), 0, lsn=9_000_000_000), aged(at(text, 40), 0, lsn=8_000_000)])
    with pytest.raises(MissingSeries):
        restarted.role("wal_bytes").mean()


def test_threads_that_wait_for_one_latch_are_named() -> None:
    wait = (
        "--Thread 14{:03} has waited at btr0cur.cc line 976 for 1.00 seconds the semaphore:\n"
        "SX-lock on RW-latch at 0x7ff7 created in file dict0dict.cc line 2737\n"
    )
    waits = "".join(wait.format(number) for number in range(12))
    text = TEXTS["mysql-5.7"].replace("OS WAIT ARRAY INFO: signal", waits + "OS WAIT ARRAY INFO: signal")
    found = findings(saved.recording([text]))
    assert "index lock" in found["latch-contention"].says
    assert "Partition" in found["latch-contention"].remedy


def test_an_empty_section_of_a_server_that_counts_no_waits_is_unknown() -> None:
    assert "latch-contention" in unknown(saved.recording([TEXTS["mariadb-10.11"]]))
    assert "latch-contention" not in unknown(saved.recording([TEXTS["mysql-5.7"]]))


def test_who_holds_back_purge_is_named() -> None:
    text = TEXTS["mariadb-10.11"]
    old = text.replace("TRANSACTION (0x7f60b1a1a280), ACTIVE 12 sec", "TRANSACTION (0x7f60b1a1a280), ACTIVE 1200 sec")
    assert "purge-lag" not in findings(saved.recording([text]))
    found = findings(saved.recording([old]))["purge-lag"]
    assert "connection 33" in found.says
    assert found.fixes[0].live == "KILL 33;"
    assert found.severity == Severity.WARNING


def test_a_queue_for_row_locks_is_named_with_its_table() -> None:
    text = TEXTS["mariadb-10.11"]
    start, end = text.index("---TRANSACTION 751"), text.index("---TRANSACTION 721")
    first, last = text.index("---TRANSACTION 195982"), text.index("--------\nFILE I/O")
    # Ten more that wait, and nobody else at work.
    busy = text[:first] + text[start:end] * 10 + text[last:]
    found = findings(saved.recording([busy]))["row-lock-pile-up"]
    assert "test.acc" in found.says


def test_the_ceiling_of_dirty_pages_is_in_the_text() -> None:
    text = TEXTS["mariadb-10.11"].replace("Modified db pages  1632", "Modified db pages  3700")
    assert "dirty-page-ceiling" in findings(saved.recording([text]))


def test_a_text_that_ends_early_or_is_anothers() -> None:
    text = TEXTS["mysql-8.0"]
    assert saved.recognises(text[:400])
    assert findings(saved.recording([text[:4000]])) == {}
    for other in ("", "procs ---memory---\n r b\n", "some words\n", ROCKS):
        assert not saved.recognises(other)


def test_the_other_engines_text() -> None:
    assert saved_rocks.recognises(ROCKS)
    assert not saved_rocks.recognises("words\n")
    once = findings(saved_rocks.recording([ROCKS]), "myrocks")
    assert once["level0-files"].severity == Severity.ADVICE
    assert findings(saved_rocks.recording([ROCKS, ROCKS]), "myrocks") == {}
    later = (
        ROCKS.replace("Stalls(count): 6 level0_slowdown", "Stalls(count): 60 level0_slowdown")
        .replace("Uptime(secs): 25.0 total", "Uptime(secs): 45.0 total")
        .replace("Cumulative stall: 00:00:0.084", "Cumulative stall: 00:00:10.084")
    )
    busy = findings(saved_rocks.recording([ROCKS, later]), "myrocks")
    assert busy["level0-files"].severity == Severity.WARNING
    assert "54 times" in busy["level0-files"].says
