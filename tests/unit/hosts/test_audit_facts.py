"""What the audit reads of fixture machines, and that what it may not read is never taken for well."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "fixtures"))
import make_machines
from make_machines import KINDS, PID, StoppedClock, golden_facts, write

from dbdyno.check.book import host_rules
from dbdyno.check.judge import judge_all
from dbdyno.hosts import activity, dump
from dbdyno.hosts.audit import disks, memory_state, processors, read_facts, server, surroundings, sysctls
from dbdyno.hosts.subject import Subject, find_pids
from dbdyno.hosts.tree import Tree
from dbdyno.model.fact import Fact
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Verdict

DATA = Path("/srv/db")


def facts_of(folder: Path) -> list[Fact]:
    return list(read_facts(folder, Subject(data_dir=DATA), clock=StoppedClock()))


def verdicts(folder: Path) -> dict[str, Verdict]:
    findings, _ = judge_all(host_rules(), Facts(facts_of(folder)))
    return {finding.rule: finding.verdict for finding in findings}


def failing(folder: Path) -> set[str]:
    return {rule for rule, verdict in verdicts(folder).items() if verdict is Verdict.FAIL}


@pytest.mark.parametrize("kind", KINDS)
def test_a_machine_reads_as_its_golden_file_says(kind: str, tmp_path: Path) -> None:
    expected = json.loads((make_machines.MACHINES / f"{kind}.facts.json").read_text())
    assert golden_facts(kind, tmp_path) == expected


STOCK = {"HOST001", "HOST052"}
"""What every stock system has: swappiness 60, two hours of patience with dead connections."""
LARGE = STOCK | {"HOST002", "HOST003"}
"""Ratios of a large memory."""


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("vm", {"HOST003"}),
        ("arm64", STOCK),
        ("container-v1", LARGE | {"HOST014", "HOST025", "HOST032"}),
        ("container-v2", LARGE),
        ("kernel-6", LARGE | {"HOST008", "HOST035", "HOST086"}),
        ("metal-numa", LARGE | {"HOST005", "HOST020", "HOST021", "HOST022", "HOST023", "HOST027", "HOST030", "HOST031",
                                "HOST040"}),
        ("kernel-3.10", LARGE | {"HOST005", "HOST006", "HOST013", "HOST030", "HOST032", "HOST033", "HOST034", "HOST036",
                                 "HOST038", "HOST050", "HOST053", "HOST070", "HOST071", "HOST082", "HOST083",
                                 "HOST087"}),
    ],
)  # fmt: skip
def test_what_is_planted_is_found_and_nothing_else(kind: str, expected: set[str], tmp_path: Path) -> None:
    write(KINDS[kind](), tmp_path)
    assert failing(tmp_path) == expected


def test_sizes_come_from_the_control_group(tmp_path: Path) -> None:
    for kind, limit_gib in (("container-v1", 2), ("container-v2", 4), ("vm", 16)):
        write(KINDS[kind](), tmp_path / kind)
        assert Facts(facts_of(tmp_path / kind)).number("host.mem.usable_bytes") == limit_gib << 30


def readable_files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "part", "files"), [("metal-numa", "", 60), ("container-v1", "sys/fs/cgroup", 4), ("kernel-3.10", "etc", 4)]
)
def test_permission_denied_on_each_file_in_turn(
    kind: str, part: str, files: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each verdict stays as it was or becomes unknown; none becomes well, none is lost, nothing breaks."""
    write(KINDS[kind](), tmp_path)
    before = verdicts(tmp_path)
    names = {fact.name for fact in facts_of(tmp_path)}
    real_open, refused, seen = Path.open, [tmp_path], set()

    def refusing_open(path: Path, *args: Any, **options: Any) -> Any:
        if path == refused[0]:
            seen.add(path)
            raise PermissionError(13, "Permission denied", str(path))
        return real_open(path, *args, **options)

    monkeypatch.setattr(Path, "open", refusing_open)
    for path in readable_files(tmp_path / part):
        refused[0] = path
        facts = facts_of(tmp_path)
        if path not in seen:
            continue
        # Devices and processes that cannot be seen may lack facts, but nothing that judges them may pass for it.
        assert {fact.name for fact in facts} <= names | {"host.cgroup_limits"}, path
        findings, _ = judge_all(host_rules(), Facts(facts))
        after = {finding.rule: finding.verdict for finding in findings}
        for rule, verdict in before.items():
            assert after.get(rule, verdict) in (verdict, Verdict.UNKNOWN), f"{path}: {rule} {verdict} → {after[rule]}"
            assert rule in after, f"{path}: {rule} is no longer judged"
    assert len(seen) >= files


def test_a_file_that_could_not_be_copied_is_not_missing(tmp_path: Path) -> None:
    write(KINDS["vm"](), tmp_path)
    (tmp_path / "etc/sysctl.d/50-db.conf").unlink()
    (tmp_path / ".unreadable").write_text("etc/sysctl.conf\tPermission denied\nproc/mdstat\tPermission denied\n")
    facts = Facts(facts_of(tmp_path))
    assert facts.find("host.raid").unknown == "Permission denied"  # type: ignore[union-attr]
    assert "Permission denied" in facts.find("host.boot.sysctl.vm.swappiness").unknown  # type: ignore[union-attr]
    assert verdicts(tmp_path)["HOST090"] is Verdict.UNKNOWN


def test_the_order_of_sysctl_files(tmp_path: Path) -> None:
    """The directory with the higher priority hides a file of the same name, later names win, sysctl.conf is last."""
    files = {
        "etc/sysctl.d/50-a.conf": "vm.swappiness = 10\nvm/dirty_bytes=1000000\n",
        "usr/lib/sysctl.d/50-a.conf": "vm.swappiness = 99\n",
        "usr/lib/sysctl.d/60-b.conf": "# comment\n-vm.swappiness=20\n; another\nnot a line\n",
        "etc/sysctl.conf": "net.core.somaxconn=128\r\nvm.dirty_ratio = 30\n",
    }
    write(files, tmp_path)
    unreadable: list[str] = []
    found = sysctls.boot_values(Tree(tmp_path), unreadable)
    assert unreadable == []
    assert found["vm.swappiness"] == ("20", "/usr/lib/sysctl.d/60-b.conf:2")
    assert found["net.core.somaxconn"] == ("128", "/etc/sysctl.conf:1")
    # Of a limit's two forms the last that was written is in force.
    assert (found["vm.dirty_bytes"][0], found["vm.dirty_ratio"][0]) == ("0", "30")


def test_settings_that_a_reboot_takes_away_are_found(tmp_path: Path) -> None:
    write(KINDS["vm"](), tmp_path)
    (tmp_path / "etc/sysctl.d/50-db.conf").write_text("net.ipv4.tcp_keepalive_time = 120\n")
    (tmp_path / "etc/default/grub").write_text('GRUB_CMDLINE_LINUX="transparent_hugepage=always"\n')
    (tmp_path / "etc/udev/rules.d").mkdir(parents=True)
    (tmp_path / "etc/udev/rules.d/60-x.rules").write_text(
        'ACTION=="add", KERNEL=="vd[a-z]", ATTR{queue/rotational}=="0", ATTR{queue/scheduler}="bfq"\n'
    )
    assert failing(tmp_path) == {"HOST003", "HOST090", "HOST091", "HOST092"}


def test_the_servers_process_is_found_by_folder_or_words(tmp_path: Path) -> None:
    write(KINDS["vm"](), tmp_path)
    assert find_pids(Tree(tmp_path), DATA) == (PID,)
    assert find_pids(Tree(tmp_path), Path("/srv")) == ()
    (tmp_path / "proc/600/cmdline").write_text("ls\0/srv/db\0")
    assert find_pids(Tree(tmp_path), DATA) == (PID,)


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (activity.parse_vmstat, "nr_free_pages 1\n"),
        (activity.parse_stat, "cpu 1 2\n"),
        (activity.parse_softirqs, "TIMER: 1 2\n"),
        (memory_state.parse_pressure, "full avg10=0\n"),
        (memory_state.parse_kills, "what\n"),
        (server.parse_allocator, " \n"),
        (server.parse_numa_policy, "\n"),
        (surroundings.kernel_version, "wrong"),
        (surroundings.arc_size, "misses 4 1\n"),
    ],
)
def test_a_file_of_another_kind_is_refused(parse: Any, text: str) -> None:
    with pytest.raises((ValueError, KeyError)):
        parse(text)


def test_rates_need_two_readings() -> None:
    before = activity.Counters({"pswpin": 0, "pswpout": 0, "stolen": 0, "idle": 0, "all": 0}, (0.0, 0.0))
    after = activity.Counters({"pswpin": 0, "pswpout": 500, "stolen": 10, "idle": 50, "all": 100}, (900.0, 100.0))
    facts = Facts(activity.compare(before, after, 2.0))
    assert facts.number("host.now.swap_out_bytes_per_s") == 250 * 4096
    assert facts.number("host.now.stolen_ratio") == 0.1
    assert facts.number("host.now.busy_ratio") == 0.5
    assert facts.number("host.now.network_interrupts_ratio_max") == 0.9
    assert all(fact.unknown == "needs two samples" for fact in activity.compare(before, after, 0.1))


def test_words_of_many_kernels() -> None:
    assert disks.parse_mdstat("md0 : active raid1 sda[0]\n 1 blocks [2/2] [UU]\n") == "clean"
    assert disks.parse_mdstat("md0 : active\n [=>.] resync = 10% (1/9)\n") == "resync"
    assert disks.barriers(["rw", "barrier=0"], "ext4") == "nobarrier"
    assert disks.journal([], "ext4") == "data=ordered"
    assert disks.is_virtual("nvme1n1", "Amazon Elastic Block Store") is True
    assert disks.is_virtual("nvme1n1", "Amazon EC2 NVMe Instance Storage") is False
    assert processors.clock_mhz("BogoMIPS: 1\n") == "absent"
    assert surroundings.kernel_version("3.10.0-1160.el7") == (3.010, 0)
    assert surroundings.kernel_version("5.4") == (5.004, 0)
    assert server.parse_unit("0::/system.slice/system-db.slice/db@main.service\n") == "db@main.service"
    assert server.parse_limit("Max open files            1024     unlimited    files\n", "Max open files") == (
        1024,
        "unlimited",
    )
    assert server.parse_allocator("7f r-xp 0 0 0 /lib/libc.so.6\n") == "libc"
    assert surroundings.parse_process(7, "7 (a b) c) S 3 " + "0 " * 19 + "25 0") == surroundings.Process(
        7, "a b) c", 3, 25 * 4096
    )


def test_units_and_their_drop_ins(tmp_path: Path) -> None:
    files = {
        "usr/lib/systemd/system/db.service": "[Service]\nLimitNOFILE=1024\nExecStart=/a\nExecStart=/b\n",
        "etc/systemd/system/db.service.d/10-a.conf": "[Service]\nLimitNOFILE=5000\n",
        "usr/lib/systemd/system/db.service.d/10-a.conf": "[Service]\nLimitNOFILE=7000\n",
    }
    write(files, tmp_path)
    assert server.unit_settings(Tree(tmp_path), "db.service")["LimitNOFILE"] == (
        "5000", "/etc/systemd/system/db.service.d/10-a.conf",
    )  # fmt: skip
    with pytest.raises(ValueError, match="no file of the unit"):
        server.unit_settings(Tree(tmp_path), "other.service")


SYSCTL_TEXT = "\ufeff" + "\r\n".join(
    [
        "vm.swappiness = 60",
        "vm.dirty_ratio = 20",
        "kernel.osrelease = 5.10.0",
        "net.core.somaxconn = 128",
        "fs.file-max = 9",
    ]
)
SUMMARY = """# Percona Toolkit System Summary Report ######################
      Kernel | 5.4.0-42-generic
     SELinux | No SELinux detected
       Total | 23.5G
  swappiness | 60
         sda | [mq-deadline] none
       sda      | 128
"""


def test_what_somebody_sent_as_text() -> None:
    assert dump.recognises("any.txt", SYSCTL_TEXT)
    assert dump.recognises("any.txt", SUMMARY)
    assert not dump.recognises("sysctl.txt", "innodb_flush = 1\nport = 3306\n" * 9)
    facts = {fact.name: fact.value for fact in dump.parse("a", SYSCTL_TEXT)}
    assert facts["host.sysctl.vm.swappiness"] == 60
    assert facts["host.sysctl.net.core.somaxconn"] == 128
    assert facts["host.kernel_version"] == 5.01
    summary = {fact.name: fact.value for fact in dump.parse("b", SUMMARY)}
    assert summary["host.mem.memory_bytes"] == int(23.5 * (1 << 30))
    assert summary["host.block.sda.scheduler"] == "mq-deadline"
    assert summary["host.selinux"] == "disabled"


def test_links_of_a_copy_stay_in_the_copy(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("vm.swappiness = 99\n")
    root = tmp_path / "copy"
    write({"usr/lib/x.conf": "vm.swappiness = 7\n", "etc/a": ""}, root)
    (root / "etc/sysctl.d").mkdir()
    (root / "etc/sysctl.d/10-a.conf").symlink_to("/usr/lib/x.conf")
    (root / "etc/sysctl.conf").symlink_to("../../secret")
    unreadable: list[str] = []
    assert sysctls.boot_values(Tree(root), unreadable)["vm.swappiness"][0] == "7"
    assert unreadable == ["/etc/sysctl.conf: a link that leads out of the copy"]


@pytest.mark.parametrize("garbage", [b"", b"\xff\xfe\x00 [ = : | \n\n -1 x"], ids=["empty", "noise"])
def test_garbage_in_every_file_breaks_nothing(garbage: bytes, tmp_path: Path) -> None:
    """In all files at once, and in a dozen of them alone: no error, and no rule that fails by itself."""
    write(KINDS["metal-numa"](), tmp_path)
    files = [path for path in readable_files(tmp_path) if "lib" not in path.parts]
    texts = {path: path.read_bytes() for path in files}
    for some in [files, *([path] for path in files[:: len(files) // 12])]:
        for path in some:
            path.write_bytes(garbage)
        findings, _ = judge_all(host_rules(), Facts(facts_of(tmp_path)))
        assert [one.says for one in findings if "rule itself" in one.says] == []
        for path in some:
            path.write_bytes(texts[path])
