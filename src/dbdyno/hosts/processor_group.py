"""Processor time that the quota of the server's control group took away.

Sources: the kernel's Documentation/scheduler/sched-bwc.rst and admin-guide/cgroup-v2.rst (cpu.max, cpu.stat). A server
in no group with a quota gives no row.
"""

from __future__ import annotations

from pathlib import Path

from dbdyno.hosts.limits import folders, parse_groups, parse_quota
from dbdyno.hosts.memory_group import parse_fields
from dbdyno.hosts.registry import Rows, Watch
from dbdyno.model.fact import Scalar
from dbdyno.model.probe import Column, ColumnKind, Probe

PROBE = Probe(
    name="processor_group",
    title="Processors of the server's control group",
    cost="three files",
    columns=(
        Column(name="group", kind=ColumnKind.KEY, help="path of the nearest group that has a quota"),
        Column(name="quota_cores", kind=ColumnKind.GAUGE, help="processors that its programs may use together"),
        Column(name="periods", kind=ColumnKind.COUNTER, help="periods of the quota in which one of them ran"),
        Column(name="throttled_periods", kind=ColumnKind.COUNTER, help="those in which the quota was used up"),
        Column(name="throttled_s", kind=ColumnKind.COUNTER, unit="s",
               help="time for which processors held the group back, summed over processors"),
    ),
)  # fmt: skip


def read(root: Path, watch: Watch) -> Rows:
    pids = watch.processes.get("server") or ()
    owner = str(pids[0]) if pids else "self"
    groups = parse_groups((root / "proc" / owner / "cgroup").read_text())
    for folder in folders(root, groups, "cpu"):
        if (row := _row(folder)) is not None:
            name = folder.relative_to(root / "sys/fs/cgroup").as_posix()
            return [{"group": "/" + name.removeprefix("cpu/"), **row}]
    return []


def _row(folder: Path) -> dict[str, Scalar] | None:
    """None without a quota: then nothing can be held back."""
    try:
        cores = _quota(folder)
        counted = parse_fields((folder / "cpu.stat").read_text())
    except (OSError, ValueError):
        return None
    if cores is None:
        return None
    throttled_s = (
        counted["throttled_usec"] / 1e6 if "throttled_usec" in counted else counted.get("throttled_time", 0) / 1e9
    )
    return {
        "quota_cores": cores,
        "periods": counted.get("nr_periods"),
        "throttled_periods": counted.get("nr_throttled"),
        "throttled_s": throttled_s,
    }


def _quota(folder: Path) -> float | None:
    if (folder / "cpu.max").exists():
        return parse_quota((folder / "cpu.max").read_text())
    quota = int((folder / "cpu.cfs_quota_us").read_text())
    return quota / int((folder / "cpu.cfs_period_us").read_text()) if quota > 0 else None
