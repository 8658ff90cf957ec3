"""Plans: what they write, how they are carried out below a root, and that a stop at any point can be taken back."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "fixtures"))
from make_machines import KINDS, StoppedClock, write

from dbdyno.check import apply as applying
from dbdyno.check import fixes
from dbdyno.check.apply import apply, last_attempt, read_journal, undo
from dbdyno.check.apply_live import Machine
from dbdyno.check.book import host_rules
from dbdyno.check.fixes_edit import mount_options, set_line, set_mount_option
from dbdyno.check.fixes_steps import Step, steps_of
from dbdyno.check.judge import judge_all
from dbdyno.check.result import Checked
from dbdyno.hosts.audit import read_facts
from dbdyno.hosts.subject import Subject
from dbdyno.model.errors import HostError, TargetError, UsageError
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Fix, Needs, Severity


@pytest.fixture(autouse=True)
def no_waiting_for_disks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)


def checked(tree: Path) -> Checked:
    facts = list(read_facts(tree, Subject(data_dir=Path("/srv/db")), clock=StoppedClock()))
    findings, _ = judge_all(host_rules(), Facts(facts))
    return Checked(target="sim:test", host=str(tree), findings=tuple(findings), facts=tuple(facts))


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """An old machine with much to mend, some of it set in the owner's own files."""
    write(KINDS["kernel-3.10"](), tmp_path / "machine")
    (tmp_path / "machine/etc/sysctl.d").mkdir()
    (tmp_path / "machine/etc/sysctl.d/90-dyno.conf").write_text("# older\nkernel.panic = 10\nnet.core.somaxconn=200\n")
    return tmp_path / "machine"


@pytest.fixture
def folder(tree: Path) -> Path:
    fixes.write(tree.parent / "fixes", checked(tree))
    return tree.parent / "fixes"


def snapshot(tree: Path) -> dict[str, tuple[bytes, int]]:
    paths = (path for path in sorted(tree.rglob("*")) if not path.is_symlink())
    return {
        str(path.relative_to(tree)): (path.read_bytes() if path.is_file() else b"", path.stat().st_mode)
        for path in paths
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "# h\na = 2\n"),
        ("a=1\n", "a = 2\n"),
        ("a=1\nb=1\n a = 7\n", "b=1\na = 2\n"),
        ("b=1", "b=1\n# h\na = 2\n"),
        ("# h\nb=1\n", "# h\nb=1\na = 2\n"),
        ("#a=1\n", "#a=1\n# h\na = 2\n"),
    ],
)
def test_a_line_takes_the_place_of_its_like(text: str, expected: str) -> None:
    assert set_line(text, r"[ \t]*a[ \t]*=", "a = 2", "# h") == expected
    assert set_line(expected, r"[ \t]*a[ \t]*=", "a = 2", "# h") == expected


def test_an_empty_line_removes() -> None:
    assert set_line("a=1\nb=2\na=3\n", "a=", "") == "b=2\n"
    assert set_line("a=1\n", "a=", "") == ""


def test_mount_options_have_one_word_of_a_kind() -> None:
    assert mount_options("defaults", "noatime") == "defaults,noatime"
    assert mount_options("rw,relatime,barrier=0,user_xattr", "barrier") == "rw,relatime,user_xattr,barrier"
    text = "# c\nUUID=1  /srv\\040db\text4  rw,discard  0 2 # kept\n/dev/sdb / ext4 defaults 0 1\n"
    changed = set_mount_option(text, "/srv db", "nodiscard")
    assert changed == text.replace("rw,discard", "rw,nodiscard")
    assert set_mount_option(changed, "/srv db", "nodiscard") == changed
    with pytest.raises(UsageError, match="not listed"):
        set_mount_option(text, "/other", "noatime")


def test_what_the_folder_holds(folder: Path) -> None:
    plan = fixes.read_plan(folder)
    names = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert {"apply.sh", "undo.sh", "fixes.json", "README.txt", "files/etc/sysctl.d/90-dyno.conf",
            "files/etc/udev/rules.d/90-dyno.rules", "files/etc/tmpfiles.d/90-dyno.conf",
            "files/etc/default/grub.d/90-dyno.cfg", "files/etc/systemd/system/db.service.d/90-dyno.conf",
            "tuned/dyno/tuned.conf"} <= names  # fmt: skip
    assert "LimitNOFILE=64000" in (folder / "files/etc/systemd/system/db.service.d/90-dyno.conf").read_text()
    assert 'ATTR{queue/scheduler}="deadline"' in (folder / "files/etc/udev/rules.d/90-dyno.rules").read_text()
    assert "HOST033" in plan.rules
    assert "HOST083" not in plan.rules, "a person has to do that"
    assert any("supported release" in fix.name for fix in plan.by_hand)


def test_the_owners_later_file_is_changed_in_place(folder: Path, tree: Path) -> None:
    """/etc/sysctl.conf is read after ours: a line in ours would be overruled."""
    apply(fixes.read_plan(folder), folder, Machine(tree), server=None, recheck=None, stamp="1")
    text = (tree / "etc/sysctl.conf").read_text()
    assert "vm.swappiness = 1\n" in text
    assert "swappiness=0" not in text
    assert "vm.dirty_ratio" not in text, "it would make the limit in bytes void"
    ours = (tree / "etc/sysctl.d/90-dyno.conf").read_text()
    assert "net.core.somaxconn = 4096\n" in ours
    assert "somaxconn=200" not in ours
    assert "kernel.panic = 10" in ours


def test_undo_gives_every_byte_back(folder: Path, tree: Path) -> None:
    before = snapshot(tree)
    outcome = apply(fixes.read_plan(folder), folder, Machine(tree), server=None, recheck=None, stamp="1")
    assert outcome.done
    assert any("below another root" in words for words in outcome.left_out)
    assert snapshot(tree) != before
    assert undo(folder, Machine(tree), server=None) == []
    assert snapshot(tree) == before
    with pytest.raises(UsageError, match="in force"):
        undo(folder, Machine(tree), server=None)


def test_a_second_time_is_refused_and_a_new_plan_changes_nothing(folder: Path, tree: Path) -> None:
    apply(fixes.read_plan(folder), folder, Machine(tree), server=None, recheck=None, stamp="1")
    after = snapshot(tree)
    with pytest.raises(UsageError, match="in force already"):
        apply(fixes.read_plan(folder), folder, Machine(tree), server=None, recheck=None, stamp="2")
    again = tree.parent / "again"
    fixes.write(again, checked(tree))
    outcome = apply(fixes.read_plan(again), again, Machine(tree), server=None, recheck=None, stamp="3")
    assert snapshot(tree) == after
    assert outcome.done == ()


class Killed(BaseException):
    """As kill -9: nothing is done after it."""


def points(folder: Path, tree: Path) -> Iterator[int]:
    """The number of writes that an attempt makes, journal included."""
    count = 0

    def counting(_: int) -> None:
        nonlocal count
        count += 1

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", counting)
        apply(fixes.read_plan(folder), folder, Machine(tree), server=None, recheck=None, stamp="0")
        undo(folder, Machine(tree), server=None)
    return iter(range(count))


@pytest.mark.slow
def test_killed_at_any_point_undo_works(folder: Path, tree: Path) -> None:
    before = snapshot(tree)
    stops = list(points(folder, tree))
    assert len(stops) > 30
    for stop in stops:
        seen, in_journal = 0, False

        def dying(file: int, stop: int = stop) -> None:
            nonlocal seen, in_journal
            seen += 1
            if seen > stop:
                in_journal = os.readlink(f"/proc/self/fd/{file}").endswith("journal.jsonl")
                raise Killed

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "fsync", dying)
            patch.setattr(applying, "undo", lambda *_, **__: [])
            with contextlib.suppress(Killed):
                apply(fixes.read_plan(folder), folder, Machine(tree), server=None, recheck=None, stamp=f"{stop:04}-x")
        attempt = last_attempt(folder)
        if attempt is None:
            continue
        journal = attempt / "journal.jsonl"
        if in_journal and stop % 2:
            # The line that was being written may be cut off: what it announces had not begun.
            journal.write_bytes(journal.read_bytes()[:-7])
        undo(folder, Machine(tree), server=None)
        assert snapshot(tree) == before, f"after a kill at write {stop}"


def test_a_step_that_fails_takes_everything_back(folder: Path, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = snapshot(tree)
    real, count = Machine.do, 0

    def failing(self: Machine, step: Step) -> None:
        nonlocal count
        count += 1
        if count == 5:
            raise HostError("the fifth fails")
        real(self, step)

    monkeypatch.setattr(Machine, "do", failing)
    with pytest.raises(HostError, match="fifth"):
        apply(fixes.read_plan(folder), folder, Machine(tree), server=None, recheck=None, stamp="1")
    assert snapshot(tree) == before
    assert last_attempt(folder) is None


def test_a_finding_that_is_still_there_takes_everything_back(folder: Path, tree: Path) -> None:
    before, plan = snapshot(tree), fixes.read_plan(folder)
    one = next(finding for finding in plan.findings if finding.rule == "HOST001")
    live = Finding(rule="X1", says="still", fixes=(Fix(kind="sysctl", name="x", value="1"),), severity=Severity.ADVICE)
    plan = fixes.Plan(target="t", findings=(live, one), steps=plan.steps)
    outcome = apply(plan, folder, Machine(tree), server=None, recheck=lambda: [live], stamp="1")
    assert outcome.rolled_back
    assert outcome.back == (live,)
    assert snapshot(tree) == before


class Server:
    """A server that takes settings, and does not start with some."""

    def __init__(self, *, broken_by: str = "", writes_file: bool = True) -> None:
        self.settings: dict[str, str] = {"a": "0"}
        self.broken_by = broken_by
        self.writes_file = writes_file
        self.given_back: object = None

    def found(self, names: Sequence[str]) -> tuple[dict[str, str], dict[str, str]]:
        return {name: self.settings.get(name, "default") for name in names}, {"a": "0"} if "a" in names else {}

    def change(self, settings: dict[str, str], reset: Sequence[str] | Mapping[str, str]) -> list[str]:
        self.given_back = reset
        for name in reset:
            self.settings.pop(name, None)
        self.settings |= settings
        return []

    def alive(self) -> None:
        if self.broken_by and self.settings.get("a") == self.broken_by:
            raise TargetError("it does not start")


def test_a_server_that_does_not_start_gets_its_settings_back(tmp_path: Path) -> None:
    plan = fixes.Plan(target="t", settings={"a": "9", "b": "1"})
    server = Server(broken_by="9")
    with pytest.raises(TargetError, match="does not start"):
        apply(plan, tmp_path, Machine(tmp_path), server=server, recheck=None, stamp="1")
    assert server.settings == {"a": "0"}
    good = Server()
    apply(plan, tmp_path, Machine(tmp_path), server=good, recheck=None, stamp="2")
    assert good.settings == {"a": "9", "b": "1"}
    assert undo(tmp_path, Machine(tmp_path), server=None), "without the server its settings cannot be taken back"
    assert undo(tmp_path, Machine(tmp_path), server=good) == []
    assert good.settings == {"a": "0"}
    assert good.given_back == {"b": "default"}, "a server that cannot read its file again needs the value"


def test_a_server_that_keeps_a_value_is_not_said_to_be_as_it_was(tmp_path: Path) -> None:
    """The negative control: it says yes to everything and does nothing."""

    class Stubborn(Server):
        def change(self, settings: dict[str, str], reset: Sequence[str] | Mapping[str, str]) -> list[str]:
            self.settings |= settings
            return []

    server = Stubborn()
    apply(
        fixes.Plan(target="t", settings={"b": "1"}), tmp_path, Machine(tmp_path), server=server, recheck=None, stamp="1"
    )
    left = undo(tmp_path, Machine(tmp_path), server=server)
    assert [words for words in left if "b = 1" in words]


def test_what_only_the_servers_file_changes_is_left_out_and_the_rest_is_done(tmp_path: Path) -> None:
    plan = fixes.Plan(target="t", settings={"a": "9", "b": "1"}, only_in_file=("b",))
    server = Server(writes_file=False)
    outcome = apply(plan, tmp_path, Machine(tmp_path), server=server, recheck=None, stamp="1")
    assert server.settings == {"a": "9"}
    assert outcome.done == ("a = 9",)
    assert outcome.left_out == ("b = 1 (only the server's own file and a restart change it)",), "a is kept"
    assert undo(tmp_path, Machine(tmp_path), server=server) == []
    assert server.settings == {"a": "0"}
    fleeting = fixes.Plan(target="t", settings={"c": "1"})
    outcome = apply(fleeting, tmp_path, Machine(tmp_path), server=server, recheck=None, stamp="1b")
    assert [words for words in outcome.left_out if "c hold until its next restart" in words]
    undo(tmp_path, Machine(tmp_path), server=server)
    alone = fixes.Plan(target="t", settings={"b": "1"}, only_in_file=("b",))
    assert apply(alone, tmp_path, Machine(tmp_path), server=server, recheck=None, stamp="2").done == ()
    undo(tmp_path, Machine(tmp_path), server=server)
    apply(plan, tmp_path, Machine(tmp_path), server=Server(), recheck=None, stamp="3")


def test_another_root_is_refused(folder: Path, tree: Path) -> None:
    apply(fixes.read_plan(folder), folder, Machine(tree), server=None, recheck=None, stamp="1")
    with pytest.raises(UsageError, match="another root"):
        undo(folder, Machine(Path("/")), server=None)


def test_the_journal_says_before_it_does(folder: Path, tree: Path) -> None:
    apply(fixes.read_plan(folder), folder, Machine(tree), server=None, recheck=None, stamp="1")
    events = [entry.event for entry in read_journal(folder / "applied/1")]
    assert events[0] == "begin"
    assert events[-1] == "end"
    assert events[1:-1] == ["before", "done"] * ((len(events) - 2) // 2)


def folders(tree: Path) -> set[str]:
    return {str(path.relative_to(tree)) for path in tree.rglob("*") if path.is_dir()}


@pytest.mark.parametrize("script", ["apply.sh", "undo.sh"])
def test_scripts_are_sound_shell(folder: Path, script: str) -> None:
    done = subprocess.run(["sh", "-n", str(folder / script)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert os.access(folder / script, os.X_OK)


def test_the_script_does_what_apply_does_and_undoes_it(folder: Path, tree: Path) -> None:
    before, folders_before = snapshot(tree), folders(tree)
    environment = {**os.environ, "ROOT": str(tree)}
    for _ in range(2):
        done = subprocess.run(["sh", folder / "apply.sh"], env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    assert done.stdout == "", f"the second time changes nothing: {done.stdout}"
    by_script = {name: sorted(content[0].split(b"\n")) for name, content in snapshot(tree).items()}
    done = subprocess.run(["sh", folder / "undo.sh"], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert folders(tree) == folders_before, "a folder that was made for a file stays behind"
    given_back = snapshot(tree)
    assert {name: given_back[name] for name in before} == before
    apply(fixes.read_plan(folder), folder, Machine(tree), server=None, recheck=None, stamp="1")
    by_us = {name: sorted(content[0].split(b"\n")) for name, content in snapshot(tree).items()}
    assert by_us == by_script


def test_hostile_names_stay_words(tmp_path: Path) -> None:
    """A name of a server or a folder must not become a command."""
    evil = "x'; touch /tmp/owned; echo '\nrm -rf /"
    step = Step(kind="line", path="/etc/a b", pattern="x", line=evil.replace("\n", " "), for_="x")
    from dbdyno.check.fixes_script import apply_script

    text = apply_script([step], evil)
    assert not any(line.startswith(("rm", "touch")) for line in text.splitlines())
    (tmp_path / "s.sh").write_text(text)
    done = subprocess.run(["sh", tmp_path / "s.sh"], env={**os.environ, "ROOT": str(tmp_path)}, check=False,
                          capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "etc/a b").read_text() == step.line + "\n"
    assert not Path("/tmp/owned").exists()


def test_a_folder_with_other_things_is_left_alone(tmp_path: Path, tree: Path, folder: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home/letter.txt").write_text("dear")
    with pytest.raises(UsageError, match="not empty"):
        fixes.write(tmp_path / "home", checked(tree))
    apply(fixes.read_plan(folder), folder, Machine(tree), server=None, recheck=None, stamp="1")
    with pytest.raises(UsageError, match="has been applied"):
        fixes.write(folder, checked(tree))


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 99, "target": "x"}', '{"target": 5}'])
def test_a_broken_plan_is_an_error_of_its_own(tmp_path: Path, text: str) -> None:
    with pytest.raises(UsageError):
        fixes.read_plan(tmp_path)
    (tmp_path / "fixes.json").write_text(text)
    with pytest.raises(UsageError, match=r"fixes\.json"):
        fixes.read_plan(tmp_path)


def test_paths_that_lead_elsewhere_are_refused(tmp_path: Path) -> None:
    with pytest.raises(HostError, match="no path"):
        Machine(tmp_path).at("/etc/../../x")
    step = Step(kind="write", path="/etc/passwd", value="x", before="")
    with pytest.raises(HostError, match="no file of the kernel"):
        Machine().do(step)


def test_two_findings_that_contradict_each_other_are_told() -> None:
    one = Finding(rule="A1", says="", severity=Severity.ADVICE, fixes=(Fix(kind="sysctl", name="x", value="1"),))
    other = Finding(rule="A2", says="", severity=Severity.CRITICAL, fixes=(Fix(kind="sysctl", name="x", value="2"),))
    kept, notes = fixes.chosen([one, other])
    assert [fix.value for fix in kept] == ["2"]
    assert notes == ["A2 wants x = 2, A1 wants 1: the first is kept"]


def test_what_a_person_has_to_do_makes_no_steps() -> None:
    facts = Facts([])
    assert steps_of(Fix(kind="manual", name="x", needs=Needs.PERSON), facts) == []
    assert steps_of(Fix(kind="statement", name="x", live="VACUUM"), facts) == []


def test_a_link_out_of_the_root_is_not_followed(folder: Path, tree: Path) -> None:
    outside = tree.parent / "precious.conf"
    outside.write_text("vm.swappiness = 0\n")
    (tree / "etc/sysctl.conf").unlink()
    (tree / "etc/sysctl.conf").symlink_to(outside)
    with pytest.raises(HostError, match="leads out of"):
        apply(fixes.read_plan(folder), folder, Machine(tree), server=None, recheck=None, stamp="1")
    assert outside.read_text() == "vm.swappiness = 0\n"


def test_attempts_within_one_second_have_folders_of_their_own(folder: Path, tree: Path) -> None:
    for _ in range(3):
        apply(fixes.read_plan(folder), folder, Machine(tree), server=None, recheck=None, stamp="1")
        undo(folder, Machine(tree), server=None)
    assert sorted(path.name for path in (folder / "applied").iterdir()) == ["1", "1-02", "1-03"]
