"""binlog-sync-bound: commits wait for the sync of the binary log

What is seen: most busy clients are in their commit, sync_binlog is 1 (or small), and files are synced about as often as
the disk can.

Why it happens: with the binary log each group of commits costs a sync of the engine's log and one of the binary log.
What the disk needs for a sync bounds the groups a second, and with them the commits.

Remedy: larger groups (binlog_commit_wait_count and _usec, or binlog_group_commit_sync_delay), a disk with a protected
write cache, the binary log on a device of its own. sync_binlog = 0 is faster and gives up that a replica and a backup
have every acknowledged transaction.

Cost: each commit waits a little longer for its group.

Rivals: the engine's log alone (binary log off); locks; the flush of pages.

References: MariaDB manual, "Group Commit for the Binary Log" (2023); MySQL 8.0 manual, "Binary Logging Options" (2018).
"""

from __future__ import annotations

from dbdyno.engines.innodb.diagnoses._commits import commit_share, larger_groups
from dbdyno.engines.innodb.diagnoses._server import judged_elsewhere, within
from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.example import Example
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.knob import Level
from dbdyno.model.recording import Recording, Stall

_SHARE = 0.5
_BUSY = 2.0
_SYNCS_PER_S = 5.0


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    if judged_elsewhere(recording, stall):
        return None
    share = commit_share(recording, stall)
    busy = within(recording.role("waiting"), stall).mean()
    syncs = within(recording.series("innodb", "innodb_data_fsyncs"), stall).mean()
    commits = within(recording.role("commits"), stall).mean()
    on = recording.facts.flag("setting.log_bin")
    every = recording.facts.number("setting.sync_binlog")
    if not on or not 1 <= every <= 10 or share < _SHARE or busy < _BUSY or syncs < _SYNCS_PER_S:
        return None
    return Finding(
        says=f"{share:.0%} of the busy clients were in their commit; the binary log is synced every "
        f"{'' if every == 1 else f'{every:.0f} '}group{'' if every == 1 else 's'}, {commits:.0f} commits a second.",
        why=f"Each group of commits waits for its syncs; the engine alone did {syncs:.0f} a second.",
        severity=Severity.WARNING if stall is not None else Severity.ADVICE,
        evidence={
            "commit_share": round(share, 2),
            "engine_syncs_per_s": round(syncs),
            "commits_per_s": round(commits),
            "sync_binlog": every,
        },
        remedy="Make groups larger, and the sync cheaper: a protected write cache, or a disk for the binary log.",
        fixes=larger_groups(recording, share * busy),
        risk="Each commit waits a little longer for its group.",
        durability=Level.L3,
        verify="More commits for each sync, and fewer clients in their commit.",
        confidence=0.75,
        ruled_out=("locks: most clients were past their statements and in their commit",),
        start_s=0.0 if stall is None else None,
        end_s=recording.duration_s if stall is None else None,
        series=("innodb.innodb_data_fsyncs", recording.role("commits").name, recording.role("waiting").name),
    )


def _example(*, bound: bool) -> Example:
    example = Example(lowest_per_s=100)
    example.level("waits.count/commit", 1, during=14 if bound else 1, role="waiting")
    example.level("waits.count/updating", 3, during=1 if bound else 14)
    example.level("innodb.innodb_data_fsyncs", 900, during=90)
    example.level("server.com_commit", 1000, during=100, role="commits")
    example.fact("setting.log_bin", "ON")
    example.fact("setting.sync_binlog", 1)
    example.fact("setting.binlog_commit_wait_count", 0)
    example.fact("setting.binlog_commit_wait_usec", 100000)
    return example


DIAGNOSIS = Diagnosis(
    id="binlog-sync-bound",
    title="Commits wait for the sync of the binary log",
    check=check,
    source="MariaDB manual, Group Commit for the Binary Log (2023)",
    bad=lambda: _example(bound=True),
    good=lambda: _example(bound=False),
)
