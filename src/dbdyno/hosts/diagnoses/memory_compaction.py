"""memory-compaction: programs wait while the kernel makes memory contiguous

What is seen: in the stall many programs had to wait for compaction, processor time in the kernel rises, and huge pages
could not be had.

Why it happens: with transparent huge pages set to `always` the kernel tries to give every program pages of 2 MiB; when
memory is fragmented it moves other pages first, while the program waits.

Remedy: transparent huge pages `never` (or `madvise`); reserve explicit huge pages for the server's cache instead.

Cost: without huge pages the page tables of a large cache are larger.

Rivals: memory that is short (then pages are scanned and swapped, not moved).

References: "Tuning Linux" (Percona, 2016); and on optimisation basics (Percona, 2022).
"""

from __future__ import annotations

from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.example import Example
from dbdyno.model.finding import Finding, Fix
from dbdyno.model.recording import Recording, Stall

_PATH = "/sys/kernel/mm/transparent_hugepage/enabled"
_FACTOR = 5.0
_PER_S = 10.0


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    if stall is None:
        return None
    series = recording.series("reclaim", "compaction_stalls")
    stalls, usual = series.during(stall, slack_s=1).mean(), series.outside(recording.stalls).median()
    reclaim = recording.series("reclaim", "reclaim_stalls").during(stall, slack_s=1).mean()
    if stalls < max(_PER_S, _FACTOR * usual) or stalls < reclaim:
        return None
    mode = recording.facts.text("host.transparent_huge_pages")
    return Finding(
        says=f"{stalls:.0f} times a second a program waited for memory to be made contiguous (usually {usual:.0f}).",
        why=f"Transparent huge pages are set to {mode!r}.",
        evidence={
            "compaction_stalls_per_s": round(stalls, 1),
            "usual_per_s": round(usual, 1),
            "reclaim_stalls_per_s": round(reclaim, 1),
            "transparent_huge_pages": mode,
        },
        remedy="Switch transparent huge pages off; reserve huge pages for the server's cache.",
        fixes=(
            Fix(
                kind="sysfs",
                name=_PATH,
                value="never",
                before=mode,
                live=f"echo never > {_PATH}",
                file="kernel command line",
                line="transparent_hugepage=never",
                undo=f"echo {mode} > {_PATH}",
                fact="host.transparent_huge_pages",
            ),
        ),
        risk="Page tables of a large cache grow.",
        verify="reclaim.compaction_stalls stays 0.",
        confidence=0.8,
        ruled_out=(f"memory that is short: {reclaim:.0f} waits a second to free memory",),
        series=("reclaim.compaction_stalls", "reclaim.reclaim_stalls"),
    )


def _example(*, moving: bool) -> Example:
    """In the stall 400 waits a second for contiguous memory, or for any."""
    example = Example()
    example.level("reclaim.compaction_stalls", 0, during=400 if moving else 2)
    example.level("reclaim.reclaim_stalls", 0, during=5 if moving else 400)
    example.fact("host.transparent_huge_pages", "always")
    return example


DIAGNOSIS = Diagnosis(
    id="memory-compaction",
    title="Programs wait while the kernel makes memory contiguous",
    check=check,
    source="Tuning Linux (Percona, 2016)",
    bad=lambda: _example(moving=True),
    good=lambda: _example(moving=False),
)
