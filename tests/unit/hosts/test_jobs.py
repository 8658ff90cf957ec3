"""Jobs beside the server: known by name or by who started them, with when they began; services and servers are none."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbdyno.engines.jobs import known_jobs
from dbdyno.explain.jobs import jobs
from dbdyno.hosts.jobs import PROBE, Process, jobs_of, names, parse, read
from dbdyno.hosts.registry import Rows, Watch
from dbdyno.model.probe import Sample
from dbdyno.samples.series import SampleStore

DAY_S = 86_400.0
KINDS = {**names(), "a-dump": "backup"}


def rows(*processes: tuple[int, str, int, float]) -> Rows:
    """Processes by number, name, parent and age, on a machine that has been up for ten days."""
    up_s = 10 * DAY_S
    return jobs_of([Process(pid, name, parent, up_s - age) for pid, name, parent, age in processes], up_s, KINDS)


def test_a_line_of_the_kernel() -> None:
    text = "4242 (a (b) c) S 17 4242 4242 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 123456 1000 2 18446744073709551615"
    assert parse(text, ticks_per_s=100) == Process(4242, "a (b) c", 17, 1234.56)
    for bad in ("", "1 (x) S 1", "1 x S"):
        with pytest.raises(ValueError, match=r"stat|invalid"):
            parse(bad)


def test_a_program_is_known_by_its_name() -> None:
    assert rows((9, "restic", 1, 30.0)) == [{"job": "restic", "kind": "backup", "processes": 1, "age_s": 30.0}]
    assert rows((9, "a-dump", 1, 30.0))[0]["kind"] == "backup"
    # The kernel keeps fifteen letters.
    assert rows((9, "unattended-upgr", 1, 3.0))[0]["kind"] == "upkeep"
    assert rows((9, "tar", 8, 5.0), (10, "tar", 8, 7.0)) == [
        {"job": "tar", "kind": "copy", "processes": 2, "age_s": 7.0}
    ]


def test_what_a_scheduler_started_is_a_job_of_the_clock() -> None:
    found = rows(
        (1, "systemd", 0, 9 * DAY_S),
        (50, "cron", 1, 9 * DAY_S),
        (60, "cron", 50, 12.0),
        (61, "sh", 60, 12.0),
        (62, "report.py", 61, 11.5),
        (63, "rsync", 61, 3.0),
        (70, "bash", 1, 12.0),
        (71, "report.py", 70, 12.0),
    )
    assert [(row["job"], row["kind"], row["processes"]) for row in found] == [
        ("report.py", "cron", 1),
        ("rsync", "copy", 1),
    ]
    # A shell that started nothing is the work itself.
    alone = rows((50, "crond", 1, 9 * DAY_S), (60, "CROND", 50, 2.0), (61, "sh", 60, 2.0))
    assert [(row["job"], row["kind"]) for row in alone] == [("sh", "cron")]


def test_others_are_no_jobs() -> None:
    assert rows((2, "kthreadd", 0, 9 * DAY_S), (50, "cron", 1, 9 * DAY_S), (77, "nginx", 1, 5.0)) == []
    assert rows((77, "rsync", 1, 2 * DAY_S)) == [], "a service"
    # A circle of parents, which cannot be, ends.
    assert rows((5, "x", 6, 1.0), (6, "y", 5, 1.0)) == []


def test_files_of_a_machine(tmp_path: Path) -> None:
    stat = "{pid} ({name}) S 1 1 1 0 -1 0 1 2 3 4 5 6 7 8 20 0 1 0 {ticks} 1000 2 3"
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/uptime").write_text("1000.00 1.0\n")
    for pid, name in ((7, "restic"), (8, "a-dump"), (9, "restic")):
        (tmp_path / f"proc/{pid}").mkdir()
        (tmp_path / f"proc/{pid}/stat").write_text(stat.format(pid=pid, name=name, ticks=90_000))
    (tmp_path / "proc/10").mkdir()
    watch = Watch(processes={"server": (9,)}, jobs={"a-dump": "backup"}, ticks_per_s=100)
    found = {row["job"]: row for row in read(tmp_path, watch)}
    assert set(found) == {"restic", "a-dump"}
    assert found["restic"] == {"job": "restic", "kind": "backup", "processes": 1, "age_s": 100.0}
    (tmp_path / "proc/7/stat").write_text("7 (cut")
    with pytest.raises(ValueError, match="stat"):
        read(tmp_path, watch)


def test_engines_name_their_own_tools() -> None:
    assert set(known_jobs().values()) <= set(names().values())
    assert "backup" in known_jobs().values()
    assert not set(known_jobs()) & set(names())


def sample(t_s: float, *found: tuple[str, float]) -> Sample:
    shown = tuple({"job": name, "kind": KINDS[name], "processes": 1, "age_s": age} for name, age in found)
    return Sample(t_s=t_s, probe="jobs", rows=shown)


def test_events_begin_where_the_job_says_and_end_when_it_is_gone() -> None:
    looks = [
        sample(0, ("rsync", 40.0)),
        sample(5),
        sample(10, ("restic", 2.5)),
        sample(15, ("restic", 7.5)),
        sample(20),
        sample(25, ("restic", 1.0)),
    ]
    found = jobs(SampleStore([PROBE], looks))
    assert [(one.kind, one.t_s, one.end_s) for one in sorted(found, key=lambda one: one.t_s)] == [
        ("copy", 0.0, 5.0),
        ("backup", 7.5, 20.0),
        ("backup", 24.0, 25.0),
    ]
    assert [one.says for one in found if one.kind == "copy"] == ["rsync ran for 45 s (began before)"]
    assert "to the end of the record" in next(one.says for one in found if one.t_s == 24.0)


def test_a_program_that_took_over_a_process_is_younger_than_that() -> None:
    looks = [sample(0), sample(5), sample(10, ("restic", 60.0)), sample(15)]
    assert [(one.t_s, one.end_s) for one in jobs(SampleStore([PROBE], looks))] == [(5.0, 15.0)]


def test_a_record_without_the_probe_has_no_such_events() -> None:
    assert jobs(SampleStore([], [])) == []
    assert jobs(SampleStore([PROBE], [Sample(t_s=1.0, probe="jobs", unknown="no")])) == []
