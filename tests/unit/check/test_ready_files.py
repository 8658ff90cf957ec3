"""The files of `--fix` are such as the programs that read them understand: asked of the programs themselves where this
machine has them, of our own readers where not. For every kind of machine that there is a fixture of."""

from __future__ import annotations

import configparser
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "fixtures"))
from make_machines import KINDS, StoppedClock, write

from dbdyno.check import fixes, fixes_files
from dbdyno.check.book import host_rules
from dbdyno.check.fixes_steps import steps_of
from dbdyno.check.judge import judge_all
from dbdyno.check.result import Checked
from dbdyno.hosts.audit import disks, read_facts
from dbdyno.hosts.rules._fixes import block, kernel_argument, limit, sysctl, sysfs
from dbdyno.hosts.subject import Subject
from dbdyno.model.fact import Fact
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Fix, Severity, Verdict

MACHINE = Facts(
    Fact(name=name, value=value)
    for name, value in {
        "host.sysctl.vm.swappiness": 60, "host.sysctl.net.ipv4.tcp_rmem": "4096 131072 6291456",
        "host.server.pid": 4711, "host.server.program": "dbserver", "host.server.user": "dbuser",
        "host.server.unit": "db.service", "host.server.limit.nofile": "1024", "host.server.limit.nofile_max": "4096",
    }.items()
)  # fmt: skip
GOVERNOR = "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor"
HUGE_PAGES = "/sys/kernel/mm/transparent_hugepage/enabled"
FIXES = [
    sysctl(MACHINE, "vm.swappiness", 1),
    sysctl(MACHINE, "net.ipv4.tcp_rmem", "4096 262144 16777216"),
    sysfs(GOVERNOR, "performance", before="ondemand", fact="x"),
    sysfs(HUGE_PAGES, "madvise", before="always", fact="x"),
    block(MACHINE, "sda", "scheduler", "mq-deadline", before="bfq"),
    block(MACHINE, "sda", "read_ahead_kb", "64", before="4096"),
    kernel_argument("transparent_hugepage", "madvise"),
    kernel_argument("numa_balancing", "disable"),
    limit(MACHINE, "nofile", "1048576"),
]
"""A change of each kind, also of what this machine cannot show: a processor's governor, the boot loader."""


def run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """The files of all fixes, below one folder."""
    steps = [step for fix in FIXES for step in steps_of(fix, MACHINE)]
    for name, text in fixes_files.ready_files(steps).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_there_is_one_file_of_each_kind(files: Path) -> None:
    assert {str(path.relative_to(files)) for path in files.rglob("*") if path.is_file()} == {
        "files/etc/sysctl.d/90-dyno.conf",
        "files/etc/tmpfiles.d/90-dyno.conf",
        "files/etc/udev/rules.d/90-dyno.rules",
        "files/etc/default/grub.d/90-dyno.cfg",
        "files/etc/systemd/system/db.service.d/90-dyno.conf",
        "tuned/dyno/tuned.conf",
    }


def test_the_boot_loader_adds_the_words_to_the_owners(files: Path) -> None:
    """As update-grub does it: the owner's file, then those of the folder, by the shell."""
    fragment = files / "files/etc/default/grub.d/90-dyno.cfg"
    run("sh", "-n", str(fragment))
    owner = files / "grub"
    owner.write_text('GRUB_DEFAULT=0\nGRUB_CMDLINE_LINUX_DEFAULT="quiet"\nGRUB_CMDLINE_LINUX="console=ttyS0 ro"\n')
    said = run("sh", "-eu", "-c", f'. {owner}; . {fragment}; echo "$GRUB_CMDLINE_LINUX"')
    assert said.split() == ["console=ttyS0", "ro", "transparent_hugepage=madvise", "numa_balancing=disable"]


def test_tmpfiles_writes_what_is_wanted(files: Path) -> None:
    file = files / "files/etc/tmpfiles.d/90-dyno.conf"
    rows = [line.split() for line in file.read_text().splitlines() if not line.startswith("#")]
    assert [(row[0], row[1], row[6]) for row in rows] == [
        ("w", GOVERNOR, "performance"), ("w", HUGE_PAGES, "madvise"),
    ]  # fmt: skip
    if shutil.which("systemd-tmpfiles"):
        root = files / "root"
        for path in (GOVERNOR.replace("*", "0"), GOVERNOR.replace("*", "1"), HUGE_PAGES):
            (root / path.lstrip("/")).parent.mkdir(parents=True)
            (root / path.lstrip("/")).write_text("before")
        run("systemd-tmpfiles", "--create", f"--root={root}", str(file))
        assert (root / HUGE_PAGES.lstrip("/")).read_text() == "madvise"
        assert (root / GOVERNOR.lstrip("/").replace("*", "1")).read_text() == "performance"


def test_udev_reads_the_rules(files: Path) -> None:
    file = files / "files/etc/udev/rules.d/90-dyno.rules"
    assert disks.udev_values(file.read_text(), "sda", "0") == {"scheduler": "mq-deadline", "read_ahead_kb": "64"}
    assert disks.udev_values(file.read_text(), "sdb", "0") == {}
    one_rule = r'(?:(?:ACTION|KERNEL|SUBSYSTEM)=="[^"]+", )+ATTR\{queue/\w+\}="[^"]+"'
    for line in file.read_text().splitlines():
        assert line.startswith("#") or re.fullmatch(one_rule, line), line
    if verifies("udevadm", "verify"):
        run("udevadm", "verify", str(file))


def test_the_kernels_parameters_are_read(files: Path) -> None:
    file = files / "files/etc/sysctl.d/90-dyno.conf"
    lines = [line for line in file.read_text().splitlines() if not line.startswith("#")]
    assert lines == ["vm.swappiness = 1", "net.ipv4.tcp_rmem = 4096 262144 16777216"]
    if verifies("sysctl", "--dry-run"):
        shown = run("sysctl", "--dry-run", f"--load={file}").splitlines()
        assert shown == lines


def test_the_drop_in_is_a_unit(files: Path) -> None:
    drop_in = files / "files/etc/systemd/system/db.service.d/90-dyno.conf"
    parsed = configparser.ConfigParser(strict=False)
    parsed.optionxform = str  # type: ignore[assignment, method-assign]
    parsed.read(drop_in)
    assert dict(parsed["Service"]) == {"LimitNOFILE": "1048576"}
    if shutil.which("systemd-analyze"):
        (drop_in.parents[1] / "db.service").write_text("[Service]\nExecStart=/bin/true\n")
        done = subprocess.run(
            ["systemd-analyze", "verify", "--man=no", str(drop_in.parents[1] / "db.service")],
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        assert "90-dyno.conf" not in done.stderr, done.stderr
        drop_in.write_text(drop_in.read_text().replace("LimitNOFILE=1048576", "LimitNOFILE=many"))
        again = subprocess.run(
            ["systemd-analyze", "verify", "--man=no", str(drop_in.parents[1] / "db.service")],
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        assert "90-dyno.conf" in again.stderr, "a wrong file is not seen"


def test_the_profile_is_one_for_tuned(files: Path) -> None:
    profile = configparser.ConfigParser(interpolation=None)
    profile.read(files / "tuned/dyno/tuned.conf")
    assert profile["main"]["include"]
    assert profile["cpu"]["governor"] == "performance"
    assert profile["vm"]["transparent_hugepages"] == "madvise"
    assert profile["sysctl"]["vm.swappiness"] == "1"
    assert profile["sysfs"]["/sys/block/sda/queue/scheduler"] == "mq-deadline"


def verifies(program: str, word: str) -> bool:
    """Whether the program is here and knows the word."""
    if shutil.which(program) is None:
        return False
    done = subprocess.run([program, "--help"], capture_output=True, text=True, check=False, timeout=60)
    return word in done.stdout


def _fields(least: int) -> Callable[[str], bool]:
    return lambda line: len(line.split()) >= least


READERS: dict[str, Callable[[str], bool]] = {
    "sysctl": lambda line: re.fullmatch(r"[\w./-]+ = [^=#]+", line) is not None,
    "tmpfiles.d": _fields(7),
    "rules.d": lambda line: 'ATTR{queue/' in line and line.count('"') % 2 == 0,
    "limits.d": lambda line: re.fullmatch(r"\S+ - \w+ \S+", line) is not None,
    "grub.d": lambda line: len(shlex.split(line)) == 1,
    ".service.d": lambda line: line == "[Service]" or re.fullmatch(r"[A-Z]\w+=\S+", line) is not None,
}  # fmt: skip


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_machine_gets_files_that_can_be_read(kind: str, tmp_path: Path) -> None:
    write(KINDS[kind](), tmp_path / "machine")
    facts = list(read_facts(tmp_path / "machine", Subject(data_dir=Path("/srv/db")), clock=StoppedClock()))
    findings, _ = judge_all(host_rules(), Facts(facts))
    fixes.write(tmp_path / "fixes", Checked(target="t", host="h", findings=tuple(findings), facts=tuple(facts)))
    for script in ("apply.sh", "undo.sh"):
        run("sh", "-n", str(tmp_path / "fixes" / script))
    for path in (tmp_path / "fixes/files").rglob("*"):
        if path.is_file():
            reads = next(reader for part, reader in READERS.items() if part in str(path))
            lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
            assert lines
            assert all(map(reads, lines)), (path, lines)


@pytest.mark.parametrize(
    ("engine", "ending"), [("postgresql", "sql"), ("innodb", "sql"), ("valkey", "txt"), ("wiredtiger", "js")]
)
def test_statements_have_the_ending_of_what_they_are(tmp_path: Path, engine: str, ending: str) -> None:
    fix = Fix(kind="setting", name="x", value="1", line="x: 1", live="set x", undo="unset x")
    found = Finding(rule="R", says="", severity=Severity.ADVICE, verdict=Verdict.FAIL, fixes=(fix,))
    fixes.write(tmp_path / "fixes", Checked(target="t", engine=engine, findings=(found,)))
    server = tmp_path / "fixes/server"
    assert (server / f"settings.{ending}").read_text() == "set x\n"
    assert (server / f"undo.{ending}").read_text() == "unset x\n"
