"""journal-commit: the file system's journal holds up everybody's syncs

What is seen: commits of the journal take many times their usual time in the stall, and follow each other without a
pause.

Why it happens: on ext4 a sync of one file may need a commit of the whole journal, which in ordered mode first writes
the data of all files that were extended: a large file of somebody else's included.

Remedy: bulk writers on another file system; a file system for the log alone; preallocated log files.

Cost: a volume.

Rivals: a disk that is slow for everybody (its own queue would show it without the journal).

References: the kernel's Documentation/filesystems/ext4/journal.rst (2018–2024).
"""

from __future__ import annotations

from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.example import Example
from dbdyno.model.finding import Finding, Fix, Needs
from dbdyno.model.recording import Recording, Stall

_SHARE = 0.5
"""Of the stall's time that the journal was committing."""
_FACTOR = 3.0


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    if stall is None:
        return None
    recording.series("journal", "last_commits_ms")
    known = recording.facts.find("host.disk_device")
    data = str(known.value) if known is not None and not known.unknown else ""
    worst: tuple[float, float, float, str] | None = None
    for device in recording.keys("journal"):
        if data and not device.startswith(data):
            continue
        took = recording.series("journal", "last_commits_ms", device)
        count = recording.series("journal", "transactions", device)
        each_ms, usual_ms = took.during(stall, slack_s=1).mean(), took.outside(recording.stalls).median()
        seen_ms = each_ms * count.during(stall, slack_s=1).total()
        if seen_ms >= _SHARE * stall.seconds * 1e3 and each_ms > _FACTOR * usual_ms:
            worst = max(worst or (0.0, 0.0, 0.0, ""), (seen_ms, each_ms, usual_ms, device))
    if worst is None:
        return None
    seen_ms, each_ms, usual_ms, device = worst
    return Finding(
        says=f"The journal of {device} spent {seen_ms / 1e3:.1f} s in commits during the stall: {each_ms:.0f} ms each, "
        f"usually {usual_ms:.0f} ms.",
        why="A sync of one file waits for the commit of the whole journal.",
        evidence={"commit_ms": round(seen_ms), "each_ms": round(each_ms, 1), "usual_ms": round(usual_ms, 1)},
        remedy="Bulk writers, or the server's log, on a file system of their own.",
        fixes=(Fix(kind="mount", name="a file system for the log", needs=Needs.PERSON),),
        risk="A volume more.",
        verify="journal.last_commits_ms is even.",
        confidence=0.6,
        ruled_out=("a disk that is slow for everybody: the journal's own time is what grew",),
        series=(f"journal.last_commits_ms/{device}", f"journal.transactions/{device}"),
    )


def _example(*, slow: bool) -> Example:
    """In the stall commits take 450 ms each instead of 2, or as long as ever."""
    example = Example()
    example.level("journal.last_commits_ms/vda-8", 2, during=450 if slow else 2.5, unit="ms")
    example.level("journal.transactions/vda-8", 10, during=2 if slow else 10)
    example.fact("host.disk_device", "vda")
    return example


DIAGNOSIS = Diagnosis(
    id="journal-commit",
    title="The file system's journal holds up everybody's syncs",
    check=check,
    source="Linux kernel, Documentation/filesystems/ext4/journal.rst (2024)",
    bad=lambda: _example(slow=True),
    good=lambda: _example(slow=False),
)
