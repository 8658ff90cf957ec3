"""Fixes on a real machine: badly set on purpose, found, mended, seen to be mended, undone, and as before byte by byte.

Only harmless things are touched: two kernel parameters, transparent huge pages, a loop device of our own with its file
system, a process of our own. Whatever happens the machine is left as it was found.
"""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from dbdyno.check import fixes
from dbdyno.check.apply import Outcome, apply, undo
from dbdyno.check.apply_live import Machine, may_raise_limits
from dbdyno.check.book import host_rules
from dbdyno.check.fixes_steps import Step
from dbdyno.check.judge import judge_all
from dbdyno.check.result import Checked
from dbdyno.cli.common import SystemClock
from dbdyno.hosts.audit import read_facts
from dbdyno.hosts.subject import Subject
from dbdyno.model.fact import Fact
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Verdict

THP = Path("/sys/kernel/mm/transparent_hugepage")
HUGE_PAGES = {"enabled", "defrag"} if os.access(THP / "enabled", os.W_OK) else set()
RULES = (
    {"HOST004", "HOST030", "HOST031", "HOST033", "HOST034", "HOST035", "HOST050"}
    | ({"HOST005", "HOST006"} if HUGE_PAGES else set())
    | ({"HOST013", "HOST070"} if may_raise_limits() else set())
)
"""Root in a container often may not raise the limits of a process, nor write to /sys."""
SYSCTLS = {"vm/dirty_expire_centisecs": "12000", "net/core/somaxconn": "512"}
"""Bad enough to be found, and harmless for a minute."""
DYNO = str(Path(sys.executable).with_name("dyno"))
FOLDERS = (
    "/etc/sysctl.d", "/etc/udev/rules.d", "/etc/security/limits.d", "/etc/tmpfiles.d", "/etc/default/grub.d",
)  # fmt: skip


def run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout.strip()


def chosen(path: Path) -> str:
    """The word that stands in brackets."""
    return path.read_text().partition("[")[2].partition("]")[0]


class Bench:
    """A loop device with a file system, and a process that works on it as a server would."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.mount = folder, folder / "mnt"
        self.data = self.mount / "data"
        self.device = ""
        self.process: subprocess.Popen[bytes] | None = None
        self._files = {path for folder in FOLDERS for path in Path(folder).glob("*")}
        self._sysctls = {name: Path("/proc/sys", name).read_text() for name in SYSCTLS}
        self._huge_pages = {name: chosen(THP / name) for name in HUGE_PAGES}

    def __enter__(self) -> Bench:
        try:
            self._make()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _make(self) -> None:
        image = self.folder / "image"
        with image.open("wb") as file:
            file.truncate(64 << 20)
        self.device = run("losetup", "--find", "--show", str(image))
        run("mkfs.ext4", "-q", self.device)
        self.mount.mkdir()
        run("mount", "-o", "strictatime,discard,barrier=0", self.device, str(self.mount))
        self.data.mkdir()
        self.queue("scheduler").write_text("bfq" if "bfq" in self.queue("scheduler").read_text() else "mq-deadline")
        self.queue("read_ahead_kb").write_text("4096")
        for name, value in SYSCTLS.items():
            Path("/proc/sys", name).write_text(value)
        for name in HUGE_PAGES:
            (THP / name).write_text("always")
        self.process = subprocess.Popen(["sleep", "600"], cwd=self.data)
        resource.prlimit(self.process.pid, resource.RLIMIT_NOFILE, (1024, 4096))

    def __exit__(self, *_: object) -> None:
        for name, value in self._sysctls.items():
            Path("/proc/sys", name).write_text(value)
        for name, value in self._huge_pages.items():
            (THP / name).write_text(value)
        for path in {path for folder in FOLDERS for path in Path(folder).glob("*-dyno.*")} - self._files:
            path.unlink()
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        subprocess.run(["umount", str(self.mount)], check=False, capture_output=True)
        if self.device:
            subprocess.run(["losetup", "--detach", self.device], check=False, capture_output=True)

    def queue(self, name: str) -> Path:
        return Path("/sys/block", Path(self.device).name, "queue", name)

    def findings(self) -> list[Finding]:
        facts = self.facts()
        entries = [entry for entry in host_rules() if entry.rule.id in RULES]
        return judge_all(entries, facts)[0]

    def facts(self) -> Facts:
        assert self.process
        subject = Subject(data_dir=self.data, pids=(self.process.pid,))
        return Facts(read_facts(Path("/"), subject, clock=SystemClock()))

    def failing(self) -> set[str]:
        return {finding.rule for finding in self.findings() if finding.verdict is Verdict.FAIL}

    def state(self) -> dict[str, bytes]:
        """All that is changed, as the machine shows it."""
        assert self.process
        proc = Path("/proc", str(self.process.pid))
        paths = [*(Path("/proc/sys", name) for name in SYSCTLS), proc / "limits", proc / "oom_score_adj"]
        paths += [THP / name for name in sorted(HUGE_PAGES)]
        paths += [path for path in sorted(self.queue("").iterdir()) if path.is_file()]
        for folder in FOLDERS:
            paths += sorted(path for path in Path(folder).glob("*") if path.is_file())
        paths += [path for path in (Path("/etc/fstab"), Path("/etc/sysctl.conf")) if path.exists()]
        found = {}
        for path in paths:
            with contextlib.suppress(OSError):  # some of a queue's files can only be written
                found[str(path)] = path.read_bytes()
        found["folders"] = " ".join(folder for folder in FOLDERS if Path(folder).is_dir()).encode()
        mounts = Path("/proc/self/mountinfo").read_bytes().splitlines()
        found["mount"] = b"\n".join(line for line in mounts if str(self.mount).encode() in line)
        return found

    def plan(self) -> Path:
        folder = self.folder / "fixes"
        facts = self.facts()
        data = Fact(name="server.data_directory", value=str(self.data))
        checked = Checked(target="bench", host="local", findings=tuple(self.findings()), facts=(data, *facts))
        fixes.write(folder, checked)
        return folder


@pytest.fixture
def bench() -> Iterator[Bench]:
    if os.geteuid() != 0:
        pytest.skip("needs root, for a loop device and the kernel's parameters")
    if shutil.which("losetup") is None or shutil.which("mkfs.ext4") is None:
        pytest.skip("losetup or mkfs.ext4 is not installed")
    folder = Path(tempfile.mkdtemp(prefix="dyno-apply-"))
    try:
        with Bench(folder) as bench:
            yield bench
    except subprocess.CalledProcessError as error:
        pytest.skip(f"no loop device can be made here: {error.stderr}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def test_found_mended_seen_and_undone(bench: Bench) -> None:
    assert bench.failing() == RULES
    before = bench.state()
    folder = bench.plan()
    plan = fixes.read_plan(folder)
    assert plan.notes == ()
    outcome = apply(plan, folder, Machine(), server=None, recheck=bench.findings, stamp="1")
    assert not outcome.rolled_back, outcome.back
    assert bench.failing() == set()
    changed = bench.state()
    assert b"barrier" not in changed["mount"]
    assert b"noatime" in changed["mount"]
    assert b"discard" not in changed["mount"]
    assert changed["/proc/sys/net/core/somaxconn"] == b"4096\n"
    assert b"net.core.somaxconn = 4096" in changed["/etc/sysctl.d/90-dyno.conf"]
    for name in HUGE_PAGES:
        assert b"[madvise]" in changed[str(THP / name)]
        assert f"w {THP / name} - - - - madvise".encode() in changed["/etc/tmpfiles.d/90-dyno.conf"]
    assert undo(folder, Machine(), server=None) == []
    assert bench.state() == before
    assert bench.failing() == RULES


def test_the_scripts_do_the_same_without_us(bench: Bench) -> None:
    before = bench.state()
    folder = bench.plan()
    for _ in range(2):
        done = subprocess.run(["sh", folder / "apply.sh"], capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, done.stderr
    assert bench.failing() == set()
    done = subprocess.run(["sh", folder / "undo.sh"], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert bench.state() == before


def test_a_finding_that_stays_takes_all_of_it_back(bench: Bench) -> None:
    """The negative control of the verification: an audit that still finds something."""
    before, found = bench.state(), bench.findings()
    folder = bench.plan()
    stuck: Callable[[], Sequence[Finding]] = lambda: [one for one in found if one.rule == "HOST050"]  # noqa: E731
    outcome: Outcome = apply(fixes.read_plan(folder), folder, Machine(), server=None, recheck=stuck, stamp="1")
    assert outcome.rolled_back
    assert bench.state() == before


def test_killed_in_the_middle_and_undone(bench: Bench) -> None:
    """A process that is killed for good between two steps; another one takes back what it did."""
    before = bench.state()
    folder = bench.plan()
    script = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from dbdyno.check import fixes\n"
        "from dbdyno.check.apply import apply\n"
        "from dbdyno.check.apply_live import Machine\n"
        "folder, stop, seen = Path(sys.argv[1]), int(sys.argv[2]), []\n"
        "def step(words):\n"
        "    seen.append(words)\n"
        "    if len(seen) == stop:\n"
        "        os.kill(os.getpid(), 9)\n"
        "plan, stamp = fixes.read_plan(folder), sys.argv[2]\n"
        "apply(plan, folder, Machine(), server=None, recheck=None, stamp=stamp, on_step=step)\n"
    )
    for stop in (2, 6, 9):
        done = subprocess.run([sys.executable, "-c", script, folder, str(stop)], check=False, timeout=60)
        assert done.returncode == -9
        assert undo(folder, Machine(), server=None) == []
        assert bench.state() == before


def test_a_soft_limit_of_a_running_process(bench: Bench) -> None:
    """Within the hard limit it may be raised, and taken back, without any capability."""
    assert bench.process
    resource.prlimit(bench.process.pid, resource.RLIMIT_NOFILE, (1024, 2000))
    before = bench.state()
    step = Step(kind="limit", name="nofile", value="2000", pid=bench.process.pid, for_="nofile")
    plan, folder = fixes.Plan(target="bench", steps=(step,)), bench.folder / "fixes"
    outcome = apply(plan, folder, Machine(), server=None, recheck=None, stamp="1")
    assert outcome.done == (step.says,)
    assert resource.prlimit(bench.process.pid, resource.RLIMIT_NOFILE) == (2000, 2000)
    assert undo(folder, Machine(), server=None) == []
    assert bench.state() == before


def test_the_command_line_shows_does_and_undoes(bench: Bench) -> None:
    before, folder = bench.state(), bench.plan()
    shown = run(DYNO, "apply", str(folder))
    assert "Nothing was done" in shown
    assert f"mount -o remount,barrier {bench.mount}" in shown
    assert bench.state() == before
    done = run(DYNO, "apply", str(folder), "--yes")
    assert "changes done" in done
    assert "not verified" not in done
    assert bench.failing() == set()
    assert "All is as it was" in run(DYNO, "apply", str(folder), "--undo")
    assert bench.state() == before
