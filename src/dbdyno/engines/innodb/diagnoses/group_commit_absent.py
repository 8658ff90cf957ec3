"""group-commit-absent: many clients commit, and each transaction is synced by itself

What is seen: several clients are in their commit at a time, yet about one transaction stands in each group
(Binlog_commits against Binlog_group_commits), or the log is synced once for each commit.

Why it happens: groups form only while a sync is under way or somebody waits on purpose. A server that does not group
(5.1 and 5.5 with a binary log), or a disk that syncs so fast that nobody joins, syncs for each.

Remedy: binlog_commit_wait_count and _usec (MariaDB), binlog_group_commit_sync_delay (MySQL); a version that groups.

Cost: each commit waits a little longer; row locks are held that much longer.

Rivals: one client only (nothing to group); a disk with a fast sync, on which groups do not pay.

Not provoked: servers group commits since MariaDB 5.3 and MySQL 5.6. Eight clients on a disk of 300 operations a second
were grouped by MariaDB 10.11 (83 commits in 30 groups a second), and MySQL 8.0 does not count its groups.

References: MariaDB manual, "Group Commit for the Binary Log" (2023); "Tuning for heavy writing workloads" (undated,
of MySQL 5.1.39, about 2009).
"""

from __future__ import annotations

from dbdyno.engines.innodb.diagnoses._commits import commit_share, larger_groups
from dbdyno.engines.innodb.diagnoses._server import judged_elsewhere, within
from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.example import Example
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.knob import Level
from dbdyno.model.recording import Recording, Stall

_IN_COMMIT = 4.0
_SHARE = 0.5
_SIZE = 1.3
_GROUPS_PER_S = 10.0


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    if judged_elsewhere(recording, stall):
        return None
    commits = within(recording.series("server", "binlog_commits"), stall).mean()
    groups = within(recording.series("server", "binlog_group_commits"), stall).mean()
    share = commit_share(recording, stall)
    inside = share * within(recording.role("waiting"), stall).mean()
    size = commits / groups if groups > 0 else 0.0
    if groups < _GROUPS_PER_S or size > _SIZE or inside < _IN_COMMIT or share < _SHARE:
        return None
    return Finding(
        says=f"{inside:.1f} clients at a time were in their commit, yet a group held {size:.2f} transactions.",
        why="Each transaction is synced by itself, though others wait to be.",
        severity=Severity.WARNING if stall is not None else Severity.ADVICE,
        evidence={
            "commits_per_s": round(commits),
            "groups_per_s": round(groups),
            "group_size": round(size, 2),
            "clients_in_commit": round(inside, 1),
        },
        remedy="Let a group wait for a few transactions.",
        fixes=larger_groups(recording, inside),
        risk="Each commit waits a little longer, and holds its row locks that much longer.",
        durability=Level.L3,
        verify="Binlog_commits rises faster than Binlog_group_commits.",
        confidence=0.7,
        ruled_out=(f"one client only: {inside:.1f} were in their commit at a time",),
        start_s=0.0 if stall is None else None,
        end_s=recording.duration_s if stall is None else None,
        series=("server.binlog_commits", "server.binlog_group_commits", recording.role("waiting").name),
    )


def _example(*, absent: bool) -> Example:
    example = Example(stall=None)
    example.level("waits.count/waiting for prior transaction to commit", 12, role="waiting")
    example.level("waits.count/updating", 2)
    example.level("server.binlog_commits", 1000)
    example.level("server.binlog_group_commits", 980 if absent else 150)
    example.fact("setting.binlog_commit_wait_count", 0)
    example.fact("setting.binlog_commit_wait_usec", 100000)
    return example


DIAGNOSIS = Diagnosis(
    id="group-commit-absent",
    title="Many clients commit, and each transaction is synced by itself",
    check=check,
    source="MariaDB manual, Group Commit for the Binary Log (2023)",
    bad=lambda: _example(absent=True),
    good=lambda: _example(absent=False),
)
