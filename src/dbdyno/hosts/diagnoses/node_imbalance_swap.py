"""node-imbalance-swap: one memory node is full and swaps while another has room

What is seen: swap-out although much memory is free; one node has nearly none, another one plenty.

Why it happens: a server that starts on one socket takes its memory there first. When that node is full the kernel may
swap its pages out rather than take the other node's.

Remedy: start the server with its memory interleaved over the nodes (numactl --interleave=all), with
vm.zone_reclaim_mode 0.

Cost: a restart; half of the accesses go to the other socket, evenly.

Rivals: memory that is short on all nodes; a write cache that pushes programs out.

References: "Tuning Linux" (Percona, 2016); "The write cache: Swap insanity tome III" (Percona, 2017).
"""

from __future__ import annotations

import numpy as np

from dbdyno.hosts.diagnoses._fixes import sysctl
from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.example import Example
from dbdyno.model.finding import Finding, Fix, Needs
from dbdyno.model.recording import Recording, Stall
from dbdyno.model.units import bytes_text

_FULL = 0.03
_ROOM = 0.15


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    if stall is not None:
        return None
    swapped = recording.role("swap_out_bytes")
    recording.series("nodes", "free_bytes")
    nodes = recording.keys("nodes")
    if len(nodes) < 2 or swapped.total() <= 0:
        return None
    swapping = swapped.where(np.nan_to_num(swapped.values) > 0)
    start_s, end_s = float(swapping.t_s[0]), float(swapping.t_s[-1])
    free: dict[str, float] = {}
    for node in nodes:
        around = recording.series("nodes", "free_bytes", node).between(start_s - 10, end_s + 10)
        total_bytes = recording.series("nodes", "total_bytes", node).median()
        free[node] = around.median() / total_bytes if total_bytes else 1.0
    full, empty = min(free, key=lambda node: free[node]), max(free, key=lambda node: free[node])
    if free[full] > _FULL or free[empty] < _ROOM:
        return None
    return Finding(
        says=f"{bytes_text(swapped.total())} were swapped out while {empty} had {free[empty]:.0%} of its memory free "
        f"and {full} {free[full]:.1%}.",
        why="Memory is short on one node only.",
        evidence={"swapped_out_bytes": round(swapped.total()), "full_node": full, "other_free_share": free[empty]},
        remedy="Interleave the server's memory over the nodes.",
        fixes=(
            Fix(
                kind="service",
                name="ExecStart",
                value="numactl --interleave=all …",
                needs=Needs.RESTART,
            ),
            sysctl(recording.facts, "vm.zone_reclaim_mode", 0),
        ),
        risk="A restart; accesses to memory become evenly slow instead of partly quick.",
        verify="nodes.free_bytes fall together; swap_out_bytes stays 0.",
        confidence=0.9,
        ruled_out=(f"memory that is short everywhere: {empty} had room",),
        start_s=start_s,
        end_s=end_s,
        series=("vmstat.swap_out_bytes", "nodes.free_bytes"),
    )


def _example(*, uneven: bool) -> Example:
    """Two nodes of 64 GiB; swap-out for 10 s with one full, or with both full."""
    gib = float(1 << 30)
    example = Example(stall=None)
    for node, free in (("node0", 0.5), ("node1", 30.0 if uneven else 0.6)):
        example.level(f"nodes.total_bytes/{node}", 64 * gib, unit="B")
        example.level(f"nodes.free_bytes/{node}", free * gib, unit="B")
    example.curve(
        "vmstat.swap_out_bytes", lambda t: np.where((t > 60) & (t <= 70), 2e7, 0.0), unit="B/s", role="swap_out_bytes"
    )
    return example


DIAGNOSIS = Diagnosis(
    id="node-imbalance-swap",
    title="One memory node is full and swaps while another has room",
    check=check,
    source="Tuning Linux (Percona, 2016)",
    bad=lambda: _example(uneven=True),
    good=lambda: _example(uneven=False),
)
