"""What is typed: workloads and their options, runs by name."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dbdyno.cli.bench import without_passwords
from dbdyno.model.errors import HostError, RecordError, UsageError
from dbdyno.model.home import Home
from dbdyno.run.choose import choose_workload, parse_options
from dbdyno.run.driver import error_of, find_driver
from dbdyno.run.find import entries, find_run

KNOWN = [{"name": "tpcc", "options": [{"name": "foreign_keys"}]}, {"name": "oltp_read_write", "options": []}]


def test_a_known_workload_is_taken() -> None:
    spec = choose_workload("tpcc", 3, parse_options(["foreign-keys=on"]), KNOWN)
    assert (spec.name, spec.scale, spec.options) == ("tpcc", 3, {"foreign_keys": "on"})


@pytest.mark.parametrize(
    ("name", "scale", "options", "says"),
    [
        ("tpc", 1, {}, "did you mean tpcc?"),
        ("tpcc", 0, {}, "--scale 0"),
        ("tpcc", -1, {}, "--scale -1"),
        ("tpcc", 10**9, {}, "--scale 1000000000"),
        ("tpcc", 1, {"foreign_key": "on"}, "did you mean foreign_keys?"),
        ("oltp_read_write", 1, {"x": "1"}, "it has no options"),
    ],
)
def test_mistakes_are_answered_with_the_nearest_word(name: str, scale: int, options: dict[str, str], says: str) -> None:
    with pytest.raises(UsageError) as caught:
        choose_workload(name, scale, options, KNOWN)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("typed", "says"),
    [("tim", "did you mean --time?"), ("report_interva", "--report-interval"), ("foreign_key", "mean foreign_keys?")],
)
def test_an_option_of_the_command_may_have_been_meant(typed: str, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        choose_workload("tpcc", 1, {typed: "3"}, KNOWN, verb=["--time", "--report-interval"])
    assert says in str(caught.value)


@pytest.mark.parametrize("word", ["tables", "=4", ""])
def test_options_need_name_and_value(word: str) -> None:
    with pytest.raises(UsageError):
        parse_options([word])


def make(home: Home, name: str, age_s: int) -> Path:
    folder = home.runs / name
    folder.mkdir(parents=True)
    (folder / "plan.json").write_text("{}")
    os.utime(folder / "plan.json", (1e9 - age_s, 1e9 - age_s))
    return folder


def test_runs_are_found_by_what_people_type(tmp_path: Path) -> None:
    home = Home(tmp_path)
    old, new = make(home, "2026-a", 10), make(home, "2026-b", 5)
    (home.runs / "not-a-run").mkdir()
    assert [entry.path for entry in entries(home)] == [new, old]
    assert find_run(home, "last") == new
    assert find_run(home, "2026-a") == old
    assert find_run(home, str(old)) == old
    for text, says in (("2026", "beginning of 2 names"), ("2027", "no run"), (str(tmp_path), "not a run folder")):
        with pytest.raises(RecordError, match=says):
            find_run(home, text)
    with pytest.raises(RecordError, match="no run 'last'"):
        find_run(Home(tmp_path / "empty"), "last")


def test_passwords_do_not_reach_the_record() -> None:
    words = ["bench", "x://me:geheim@host/db", "x://me@host", "--option", "a=b://c:d"]
    assert without_passwords(words) == ["bench", "x://me:***@host/db", "x://me@host", "--option", "a=b://c:d"]


def test_the_driver_is_found_where_the_variable_says(tmp_path: Path) -> None:
    binary = tmp_path / "my-driver"
    binary.write_text("#!/bin/sh\n")
    binary.chmod(0o755)
    assert find_driver({"DYNO_DRIVER": str(binary)}) == binary
    binary.chmod(0o644)
    with pytest.raises(HostError, match="DYNO_DRIVER"):
        find_driver({"DYNO_DRIVER": str(binary)})


def test_an_error_event_keeps_class_and_server_code() -> None:
    error = error_of({"event": "error", "class": "auth", "code": "28P01", "message": "no", "hint": ""})
    assert (error.what, error.code, error.found) == ("no", "auth", "the server's code 28P01")
    assert error.todo
