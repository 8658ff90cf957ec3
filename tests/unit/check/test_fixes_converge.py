"""Advice converges: on machines of any configuration, all fixes applied and the machine booted, none of them comes
back, nothing new comes, and no two findings wanted different values of one thing."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parents[2] / "fixtures"))
from make_machines import PID, StoppedClock, base, disk, limits, meminfo, mount, node_meminfo, stat_line, write

from dbdyno.check import fixes
from dbdyno.check.apply import apply, undo
from dbdyno.check.apply_live import Machine
from dbdyno.check.book import host_rules
from dbdyno.check.judge import judge_all
from dbdyno.check.result import Checked
from dbdyno.hosts.audit import disks, read_facts, server, sysctls
from dbdyno.hosts.subject import Subject
from dbdyno.hosts.tree import Tree
from dbdyno.model.fact import Fact
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Verdict

GIB = 1 << 30
GIVEN_UP = {"manual", "service", "statement"}
"""Kinds that a person, or a running system, has to do."""

NUMBERS = {
    "vm.swappiness": (0, 1, 10, 30, 60, 100), "vm.dirty_ratio": (0, 2, 10, 20, 40, 80),
    "vm.dirty_background_ratio": (0, 1, 5, 10, 30), "vm.dirty_bytes": (0, 1 << 28, 8 * GIB),
    "vm.dirty_background_bytes": (0, 1 << 26, 2 * GIB), "vm.dirty_writeback_centisecs": (0, 100, 500, 6000),
    "vm.dirty_expire_centisecs": (500, 3000, 12000), "vm.overcommit_memory": (0, 1, 2),
    "vm.min_free_kbytes": (1000, 67584, 8 << 20), "vm.zone_reclaim_mode": (0, 1), "vm.nr_hugepages": (0, 100, 2000),
    "vm.max_map_count": (1000, 65530, 262144), "kernel.numa_balancing": (0, 1), "fs.aio-max-nr": (4096, 65536, 1 << 20),
    "fs.aio-nr": (0, 3000, 60000), "fs.file-max": (9000, 800000), "fs.file-nr": ("100\t0\t9", "8900\t0\t9"),
    "net.core.somaxconn": (128, 1024, 4096), "net.ipv4.tcp_max_syn_backlog": (128, 2048),
    "net.ipv4.tcp_keepalive_time": (60, 600, 7200), "net.ipv4.tcp_keepalive_intvl": (30, 75, 300),
    "net.ipv4.tcp_keepalive_probes": (3, 9, 20), "net.ipv4.tcp_fin_timeout": (30, 60, 120),
    "net.ipv4.tcp_tw_recycle": ("", 0, 1), "net.ipv4.tcp_syncookies": (0, 1),
    "net.ipv4.tcp_slow_start_after_idle": (0, 1), "net.netfilter.nf_conntrack_max": ("", 65536, 262144),
    "net.netfilter.nf_conntrack_count": ("", 10, 60000),
}  # fmt: skip
COUNTERS = {"fs.aio-nr", "fs.file-nr", "net.netfilter.nf_conntrack_count"}
"""What only the kernel writes."""
SCHEDULERS = ("none", "mq-deadline", "bfq", "kyber")


@st.composite
def machines(draw: st.DrawFn) -> dict[str, str]:
    """Any configuration of a machine with one server; what a file sets at boot is drawn apart from what is in force."""
    memory = draw(st.sampled_from((2, 8, 64, 512))) * GIB
    now = {key: str(draw(st.sampled_from(values))) for key, values in NUMBERS.items()}
    for limit in ("vm.dirty", "vm.dirty_background"):
        # As in the kernel, only one of the two forms is not 0.
        if now[f"{limit}_bytes"] != "0":
            now[f"{limit}_ratio"] = "0"
    files = base(memory, swap_bytes=draw(st.sampled_from((0, 2))) * GIB)
    for key, value in now.items():
        path = "proc/sys/" + key.replace(".", "/")
        files.pop(path, None)
        if value:
            files[path] = value + "\n"
    keys = draw(
        st.lists(st.sampled_from([key for key in NUMBERS if now[key] and key not in COUNTERS]), unique=True, max_size=6)
    )
    lines = [f"{key} = {draw(st.sampled_from([v for v in NUMBERS[key] if v != '']))}" for key in keys]
    name = draw(st.sampled_from(("etc/sysctl.d/10-a.conf", "etc/sysctl.d/99-z.conf", "etc/sysctl.conf",
                                 "usr/lib/sysctl.d/95-vendor.conf")))  # fmt: skip
    files[name] = "\n".join(lines) + "\n"
    spins, now_scheduler = draw(st.sampled_from("01")), draw(st.sampled_from(SCHEDULERS))
    offered = " ".join(f"[{one}]" if one == now_scheduler else one for one in SCHEDULERS)
    files |= disk("sda", "8:0", scheduler=offered, rotational=spins,
                  read_ahead_kb=str(draw(st.sampled_from((0, 16, 128, 4096)))))  # fmt: skip
    if draw(st.booleans()):
        udev = draw(st.sampled_from(("10-a", "99-z")))
        files[f"etc/udev/rules.d/{udev}.rules"] = (
            f'KERNEL=="sd*", ATTR{{queue/scheduler}}="{draw(st.sampled_from(SCHEDULERS))}"\n'
        )
    options = ",".join(draw(st.sampled_from(group)) for group in (
        ("rw", "rw,relatime", "rw,noatime"), ("nodiscard", "discard"), ("barrier=1", "nobarrier")))  # fmt: skip
    kind = draw(st.sampled_from(("ext4", "xfs", "ext3")))
    nodes = draw(st.sampled_from((1, 2)))
    thp = draw(st.sampled_from(("[always] madvise never", "always [madvise] never", "always madvise [never]")))
    defrag = draw(
        st.sampled_from(("[always] defer defer+madvise madvise never", "[always] madvise never", "always [never]"))
    )
    clock, governor = draw(st.sampled_from(("tsc", "acpi_pm"))), draw(st.sampled_from(("ondemand", "performance")))
    files |= {
        "proc/meminfo": meminfo(memory, swap_bytes=2 * GIB, huge=draw(st.sampled_from(((0, 0), (700, 690))))),
        "proc/self/mountinfo": mount("8:0", "/srv/db", kind, "/dev/sda", options + "|"),
        "etc/fstab": draw(st.sampled_from((f"/dev/sda\t/srv/db  {kind} {options} 0 2\n", "# nothing\n",
                                           f"/dev/sda /srv/db {kind} defaults 0 2\n"))),
        "etc/default/grub": f'GRUB_CMDLINE_LINUX="{draw(st.sampled_from(("", "transparent_hugepage=always")))}"\n',
        "sys/kernel/mm/transparent_hugepage/enabled": thp + "\n",
        "sys/kernel/mm/transparent_hugepage/defrag": defrag + "\n",
        "sys/devices/system/node/online": "0\n" if nodes == 1 else "0-1\n",
        "sys/devices/system/node/node1/meminfo": node_meminfo(1, memory, memory // draw(st.sampled_from((2, 100)))),
        "sys/devices/system/clocksource/clocksource0/current_clocksource": clock + "\n",
        "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": governor + "\n",
        "sys/devices/system/cpu/cpu0/cpufreq/scaling_driver": "acpi-cpufreq\n",
        "sys/devices/system/cpu/cpu0/cpufreq/scaling_available_governors": "ondemand performance\n",
        "proc/sys/kernel/osrelease": draw(st.sampled_from(("2.6.32-754\n", "3.10.0-1160\n", "6.1.0-31\n"))),
        f"proc/{PID}/limits": limits(*(draw(st.sampled_from(("1024", "64000", "1048576", "unlimited"))) for _ in "ab")),
        f"proc/{PID}/oom_score_adj": draw(st.sampled_from(("0", "-800", "-1000"))) + "\n",
        "proc/900/stat": stat_line(900, "java", 1, draw(st.sampled_from((10, memory // 40_960)))),
    }  # fmt: skip
    if draw(st.booleans()):
        files[f"proc/{PID}/cgroup"] = "0::/user.slice/session-1.scope\n"
    return files


SERVERS = st.fixed_dictionaries(
    {
        "server.cache_bytes": st.sampled_from((GIB, 20 * GIB)),
        "server.huge_pages_wanted": st.booleans(),
        "server.memory_planned_bytes": st.sampled_from((GIB, 40 * GIB)),
        "server.role": st.sampled_from(("primary", "replica")),
        "server.connections_max": st.sampled_from((100, 40_000)),
        "server.files_needed": st.sampled_from((500, 50_000, 900_000)),
    },
    optional={"server.forks_for_snapshot": st.booleans(), "server.uses_page_cache": st.booleans()},
)


def judged(tree: Path, known: dict[str, object]) -> tuple[list[Finding], list[Fact]]:
    facts = list(read_facts(tree, Subject(data_dir=Path("/srv/db")), clock=StoppedClock()))
    facts += [Fact(name=name, value=value) for name, value in known.items()]  # type: ignore[arg-type]
    findings, _ = judge_all(host_rules(), Facts(facts))
    return findings, facts


def boot(root: Path) -> None:
    """What a start of the machine makes of its files: the kernel of the fixture is as simple as this."""
    tree = Tree(root)
    unreadable: list[str] = []
    values = {key: value for key, (value, _) in sysctls.boot_values(tree, unreadable).items()}
    for key, value in values.items():
        path = root / "proc/sys" / key.replace(".", "/")
        if path.exists():
            path.write_text(value + "\n")
    rotational = (root / "sys/block/sda/queue/rotational").read_text().strip()
    for file in sorted((root / "etc/udev/rules.d").glob("*.rules")):
        for name, value in disks.udev_values(file.read_text(), "sda", rotational).items():
            choose(root / f"sys/block/sda/queue/{name}", value)
    for file in sorted((root / "etc/tmpfiles.d").glob("*.conf")):
        for line in file.read_text().splitlines():
            words = line.split()
            if words and words[0] == "w":
                for path in root.glob(words[1].lstrip("/")):
                    choose(path, words[6 if len(words) > 6 else 5])
    boot_server(tree)
    line = disks.fstab_line((root / "etc/fstab").read_text(), "/srv/db")
    if line != "absent":
        kind, options = line.split()[2:4]
        if not {"noatime", "relatime", "strictatime"} & set(options.split(",")):
            options += ",relatime"
        (root / "proc/self/mountinfo").write_text(mount("8:0", "/srv/db", kind, "/dev/sda", options + "|"))


def choose(path: Path, value: str) -> None:
    text = path.read_text()
    words = [f"[{word}]" if word == value else word for word in text.replace("[", "").replace("]", "").split()]
    path.write_text((" ".join(words) if "[" in text else value) + "\n")


def boot_server(tree: Tree) -> None:
    """Its limits as its unit, or limits.d, give them."""
    found: dict[str, str] = {}
    if "db.service" in tree.text(f"proc/{PID}/cgroup"):
        found = {name: value for name, (value, _) in server.unit_settings(tree, "db.service").items()}
    elif tree.has("etc/security/limits.d/90-dyno.conf"):
        words = [line.split() for line in tree.text("etc/security/limits.d/90-dyno.conf").splitlines()]
        units = {ours: theirs for ours, theirs in server.LIMITS.values()}
        found = {units[one[2]]: one[3] for one in words if len(one) == 4 and one[0] == "dbuser"}
    lines = tree.text(f"proc/{PID}/limits").splitlines()
    for number, line in enumerate(lines):
        for theirs, (_, setting) in server.LIMITS.items():
            if line.startswith(theirs) and setting in found:
                value = found[setting].replace("infinity", "unlimited")
                lines[number] = f"{theirs:<26}{value:<21}{value:<21}files"
    (tree.root / f"proc/{PID}/limits").write_text("\n".join(lines) + "\n")
    if "OOMScoreAdjust" in found:
        (tree.root / f"proc/{PID}/oom_score_adj").write_text(found["OOMScoreAdjust"] + "\n")


def stays(finding: Finding, mounted: bool) -> bool:
    """Whether a person, or a running system, has to do a part of it: then it may be there after the boot."""
    without_file = {"limit": "oom_score_adj", "mount": ""}
    return not finding.fixes or any(
        fix.kind in GIVEN_UP
        or (fix.kind == "mount" and not mounted)
        or (fix.kind == "limit" and fix.name == without_file["limit"] and not fix.file)
        for fix in finding.fixes
    )


@pytest.fixture(autouse=True, scope="module")
def no_waiting_for_disks() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


@pytest.mark.slow
@settings(
    max_examples=15,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(machines(), SERVERS)
def test_nothing_comes_back(files: dict[str, str], known: dict[str, object]) -> None:
    folder = Path(tempfile.mkdtemp(prefix="converge-"))
    try:
        tree, plan_folder = folder / "machine", folder / "fixes"
        write(files, tree)
        before, facts = judged(tree, known)
        fixes.write(plan_folder, Checked(target="test", host=str(tree), findings=tuple(before), facts=tuple(facts)))
        plan = fixes.read_plan(plan_folder)
        assert plan.notes == (), "two findings contradict each other"
        etc = snapshot(tree / "etc")
        apply(plan, plan_folder, Machine(tree), server=None, recheck=None, stamp="1")
        boot(tree)
        after, _ = judged(tree, known)
        mounted = "/srv/db" in files["etc/fstab"]
        allowed = {one.rule for one in before if one.verdict is Verdict.FAIL and stays(one, mounted)}
        wrong = [one for one in after if one.verdict is Verdict.FAIL and one.rule not in allowed]
        assert wrong == [], ([f"{one.rule} {one.says}" for one in wrong], [f"{s.path}:{s.line}" for s in plan.steps])
        undo(plan_folder, Machine(tree), server=None)
        assert snapshot(tree / "etc") == etc
    finally:
        shutil.rmtree(folder)


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
