"""An audit shown: text, HTML and SARIF; what a server says cannot steer a terminal or a browser."""

from __future__ import annotations

import json
import re
import unicodedata

import msgspec
import pytest

from dbdyno.check.result import Checked, Problem, worst_first
from dbdyno.cli.check import status_of, targets_of
from dbdyno.model.errors import UsageError
from dbdyno.model.fact import Fact, Scalar
from dbdyno.model.finding import Finding, Fix, Needs, Severity, Verdict
from dbdyno.model.knob import Level
from dbdyno.model.record import from_json, to_json
from dbdyno.report.audit import audit_html, audit_sarif, audit_text, shown, table_text
from dbdyno.report.safe import safe_json

LINK = "[update now](https://example.org/)"
HOSTILE = LINK + "x\x1b[2J\x1b]0;title\x07<script>alert(1)</script>\u202e\x9b31m\r\n\"'&"
FINDING = Finding(
    rule="XX001",
    title="all is well",
    says=f"It is {HOSTILE}",
    why=HOSTILE,
    evidence={"setting.x": HOSTILE},
    severity=Severity.CRITICAL,
    remedy=HOSTILE,
    fixes=(Fix(kind="setting", name="x", live=HOSTILE, file=HOSTILE, line=HOSTILE, needs=Needs.RESTART),),
    risk=HOSTILE,
    durability=Level.L3,
    verify=HOSTILE,
    undo=HOSTILE,
    source=HOSTILE,
)
CHECKED = Checked(
    target=HOSTILE,
    engine="e",
    server=HOSTILE,
    host="local",
    level=Level.L2,
    lacking=("pitr",),
    findings=(
        FINDING,
        Finding(rule="XX002", title="seen", says=HOSTILE, verdict=Verdict.UNKNOWN),
        Finding(rule="XX003", title="well", says="", verdict=Verdict.PASS),
    ),
    problems=(Problem(source="host", what=HOSTILE, found=HOSTILE, todo=HOSTILE),),
    facts=(Fact(name="a", value=HOSTILE),),
)


def test_the_text_has_all_that_is_needed_and_no_control_characters() -> None:
    text = audit_text(CHECKED)
    assert not [one for one in text if ord(one) < 32 and one != "\n"]
    assert "\u202e" not in text
    assert "\x9b" not in text
    names = ("why:", "evidence:", "fix:", "risk:", "verify:", "undo:", "source:")
    words = (
        "[!!] XX001 critical",
        "after a restart",
        "Keeps L3",
        "[??] XX002",
        "[OK] 1: XX003",
        "NOT SEEN",
        "L2; without",
    )
    for part in (*names, *words):
        assert part in text


def test_colour_is_ours_alone() -> None:
    text = audit_text(CHECKED, colour=True, verbose=True)
    codes = {part[: part.index("m") + 1] for part in text.split("\x1b")[1:]}
    assert codes == {"[31m", "[32m", "[33m", "[0m"}
    assert "[OK]\x1b[0m XX003 well" in text


def test_prose_is_folded_and_commands_are_not() -> None:
    command = "sysctl -w " + " ".join(f"a.b.c{n}=1" for n in range(30))
    finding = msgspec.structs.replace(FINDING, says=FINDING.says + " word" * 40, why="word " * 60,
                                      fixes=(Fix(kind="sysctl", name="x", live=command),))  # fmt: skip
    checked = msgspec.structs.replace(CHECKED, findings=(finding,))
    lines = audit_text(checked, width=80).splitlines()
    assert f"     fix:      {command}" in lines, "a command is copied as one"
    prose = lines[lines.index(f"     {'why:':9} " + "word " * 12 + "word") :]
    assert prose[1].startswith(" " * 15 + "word")
    head = next(number for number, line in enumerate(lines) if line.startswith("[!!]"))
    assert re.match(r" {5}\S", lines[head + 1]), "folded below its own words"
    assert max(len(line) for line in audit_text(checked).splitlines()) > len(command), "no width, no folds"
    assert not [one for one in audit_text(checked, width=40, colour=True) if ord(one) < 32 and one not in "\n\x1b"]


def test_rules_that_lack_the_same_thing_share_a_line() -> None:
    lacking = [
        Finding(rule=f"XX{n:03}", title="t", says="cannot be seen: host.a: the folder is not known",
                verdict=Verdict.UNKNOWN)
        for n in range(5)
    ]  # fmt: skip
    other = Finding(rule="YY001", title="t", says="cannot be seen: host.b: permission denied", verdict=Verdict.UNKNOWN)
    checked = Checked(target="t", findings=(*lacking, other))
    text = audit_text(checked)
    assert "[??] 5 rules: the folder is not known: XX000 XX001 XX002 XX003 XX004" in text
    assert "[??] YY001 t: cannot be seen: host.b: permission denied" in text
    assert audit_text(checked, verbose=True).count("[??]") == 6


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("server.end_of_life_unix_s", 1777507200.0, "2026-04-30"),
        ("host.mem.memory_bytes", 25276510208, "25276510208 (23.5 GiB)"),
        ("x_bytes", 3 << 20, "3145728 (3 MiB)"),
        ("x_bytes", 512, "512"),
        ("x_bytes", "absent", "absent"),
        ("x_unix_s", 1e300, "1e+300"),
        ("x", True, "True"),
    ],
)
def test_evidence_is_for_people(name: str, value: Scalar, words: str) -> None:
    assert shown(name, value) == words


def test_a_page_of_many_has_a_table_and_no_place_twice() -> None:
    page = audit_html([CHECKED, CHECKED])
    places = re.findall(r' id="([^"]+)"', page)
    assert len(places) == len(set(places))
    assert page.count('href="#t') == 2
    dead = Checked(target="t", problems=(Problem(source="server", what="It cannot be reached.", fatal=True),))
    assert "<td>It cannot be reached.</td>" in audit_html([CHECKED, dead]), "a target that was not read is not well"
    assert 'href="#t' not in audit_html([CHECKED])


def test_the_page_escapes_everything_and_loads_nothing() -> None:
    page = audit_html([CHECKED])
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "default-src 'none'" in page
    assert "XX001" in page


def test_sarif_is_what_readers_expect() -> None:
    log = json.loads(to_json(audit_sarif([CHECKED])))
    run = log["runs"][0]
    kinds = {one["ruleId"]: (one["kind"], one["level"]) for one in run["results"]}
    assert kinds == {"XX001": ("fail", "error"), "XX002": ("open", "none"), "XX003": ("pass", "none")}
    assert {one["id"] for one in run["tool"]["driver"]["rules"]} == set(kinds)


@pytest.mark.parametrize("value", [CHECKED, audit_sarif([CHECKED])], ids=["json", "sarif"])
def test_json_on_a_terminal_steers_nothing_and_says_the_same(value: object) -> None:
    plain = to_json(value).decode()
    shown_ = safe_json(plain)
    assert "\x9b" in plain
    assert not [one for one in shown_ if unicodedata.category(one).startswith("C")]
    assert json.loads(shown_) == json.loads(plain)
    assert json.loads(safe_json(json.dumps("\U000e0001", ensure_ascii=False))) == "\U000e0001"


def test_no_word_of_a_server_is_a_link() -> None:
    assert "](" in CHECKED.findings[0].says
    run = audit_sarif([CHECKED])["runs"][0]
    for part in (run["results"][0]["message"], run["tool"]["driver"]["rules"], run["invocations"]):
        assert "](" not in to_json(part).decode()


def test_the_record_comes_back_whole() -> None:
    assert from_json(to_json(CHECKED), Checked) == CHECKED


def test_the_worst_comes_first() -> None:
    advice = msgspec.structs.replace(FINDING, rule="A", severity=Severity.ADVICE)
    order = worst_first([*CHECKED.findings[::-1], advice])
    assert [one.rule for one in order] == ["XX001", "A", "XX002", "XX003"]


def test_the_table_is_one_line_a_target() -> None:
    lines = table_text([CHECKED, CHECKED]).splitlines()
    assert len(lines) == 3
    assert lines[0].split()[:3] == ["target", "version", "level"]


def test_the_exit_status() -> None:
    well = Checked(target="t", findings=(CHECKED.findings[2],))
    unknown = Checked(target="t", findings=(CHECKED.findings[1],))
    unseen = Checked(target="t", findings=(Finding(rule="CONTRACT", says="x", verdict=Verdict.UNKNOWN),))
    dead = Checked(target="t", problems=(Problem(source="server", what="x", fatal=True),))
    assert [status_of([one]) for one in (well, unknown, CHECKED, unseen, dead)] == [0, 0, 1, 1, 2]
    assert status_of([well, dead]) == 2


def test_a_file_of_targets() -> None:
    text = "# all\n\nurl://a   ssh://b # why\nurl://c\n"
    assert targets_of(text, "f") == [("url://a", "ssh://b"), ("url://c", None)]
    for wrong in ("", "a b c\n", "# nothing\n"):
        with pytest.raises(UsageError, match="f"):
            targets_of(wrong, "f")
