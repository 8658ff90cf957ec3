"""What other programs do beside the server, as diagnoses ask for it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dbdyno.model.facts import MissingFact
from dbdyno.model.finding import Fix, Needs
from dbdyno.model.recording import Recording, Stall

BULK_BYTES = 256 << 10
"""Per second: below this nobody reads or writes in bulk, however little the disk does beside."""
FACTOR = 2.0
"""Times what a program, or the disk, usually does."""
OTHER_DISK = 1.5
"""A program that moves so many times what the disk moved beside the server uses another one, or the page cache."""
_WAITED = 1.2
"""Times the usual share of the time in which some task waited for input or output."""


def rates(recording: Recording, stall: Stall, column: str) -> Iterator[tuple[str, float, float]]:
    """Each program with the largest of its bytes per second around the stall, and its usual ones. (Programs are asked
    for every few seconds, and which disk they use is not known.) Raises `MissingFact` when nobody was asked for."""
    recording.series("writers", column).during(stall, slack_s=2.0).max()
    for program in recording.keys("writers"):
        try:
            series = recording.series("writers", column, program)
            per_s = series.during(stall, slack_s=2.0).max()
        except MissingFact:
            continue  # It was seen only once: no rate.
        before = series.before(stall).values
        yield program, per_s, float(np.nanmedian(before)) if np.isfinite(before).any() else 0.0


def held_up(recording: Recording, stall: Stall) -> bool:
    """Whether tasks waited for input or output more than usual; a kernel that does not say so speaks for neither."""
    try:
        waited = recording.role("pressure_io_us")
        return waited.during(stall, slack_s=1).mean() >= _WAITED * waited.outside(recording.stalls).mean()
    except MissingFact:
        return True


def bound(program: str, device: str, per_s: float, way: str) -> Fix:
    """A tenth of what the program moved, as a limit; `way` is Read or Write."""
    return Fix(
        kind="service",
        name=f"IO{way}BandwidthMax",
        value=f"/dev/{device} {max(1, int(per_s / 10) >> 20)}M",
        live=f"ionice -c 3 -p $(pgrep -d, -x {program})",
        needs=Needs.PERSON,
    )
