"""reads-wait-for-disk: operations wait for pages from the disk

What is seen: clients' threads read pages into the cache and wait 10 ms or more for each, one thread or more all the
time.

Why it happens: what is read is in neither cache. The kernel's file cache holds compressed blocks, about four times as
much data as the same memory in the server's own cache: a server's cache beyond half of the memory starves it. A scan,
or a device that something else keeps busy, shows the same.

Remedy: the server's cache back to its default (half of the memory, less 1 GiB), indexes for scans, a faster device.

Cost: a smaller cache of the server holds fewer pages that need no decompression.

Rivals: writes that keep the device busy: a checkpoint, clients that evict dirty pages.

References: "MongoDB Tuning Anti-Patterns: How Tuning Memory Can Make Things Much Worse" (Percona, 2021). The 10 ms are
our choice: a page from the file cache takes less than one.
"""

from __future__ import annotations

from dbdyno.engines.wiredtiger.diagnoses._status import judged_elsewhere, look, made, mean_s, names, severity, within
from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.finding import Finding
from dbdyno.model.recording import Recording, Stall

_SLOW_S = 0.01
_THREADS_MIN = 1.0


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    read_s, per_s = mean_s(recording, "clients_read_s", "clients_reads", stall)
    threads = within(recording, "clients_read_s", stall).mean()
    running = within(recording, "checkpoint_running", stall).share_above(0)
    if judged_elsewhere(recording, stall) or read_s < _SLOW_S or threads < _THREADS_MIN:
        return None
    return Finding(
        says=f"Clients read {per_s:.0f} pages a second from the disk and waited {read_s * 1e3:.0f} ms for each: "
        f"{threads:.1f} threads all the time.",
        why="What is read is neither in the server's cache nor in the kernel's.",
        severity=severity(recording, stall),
        evidence={"read_ms": round(read_s * 1e3, 1), "reads_per_s": round(per_s, 1), "threads": round(threads, 1)},
        remedy="Leave the kernel's file cache its half of the memory; look for scans without an index.",
        fixes=(look("scans", "db.currentOp({active: true, planSummary: 'COLLSCAN'})"),),
        risk="A smaller cache of the server decompresses more often.",
        verify="The time of application threads' reads rises more slowly under the same load.",
        confidence=0.7,
        ruled_out=(f"a checkpoint alone: one ran in {running:.0%} of the samples",),
        series=names("clients_read_s", "clients_reads", "checkpoint_running"),
    )


DIAGNOSIS = Diagnosis(
    id="reads-wait-for-disk",
    title="Operations wait for pages from the disk",
    check=check,
    source="MongoDB Tuning Anti-Patterns (Percona, 2021)",
    bad=lambda: made(clients_read_s=15, clients_reads=600),
    good=lambda: made(evicted_by_clients=600, evicted_dirty=900, clients_evicting_s=8),
    symptom=True,
)
