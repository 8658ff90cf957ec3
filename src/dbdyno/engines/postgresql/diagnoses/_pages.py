"""Whole pages in the log: how many, and whether they flood it."""

from __future__ import annotations

from dataclasses import dataclass

from dbdyno.model.facts import MissingFact
from dbdyno.model.recording import Recording, Stall

_BEFORE_S = 1.0
_AFTER_S = 2.0
"""A process counts what it logged when it is done: a client that was held up, after the stall."""
_IMAGES_FACTOR = 2.0
_LOG_FACTOR = 1.5
_IMAGE_SHARE = 0.5
_EACH_FACTOR = 5.0
_LEAST = 16.0
"""Whole pages a second: fewer are no flood, however few there were before."""
_RARE_S = 1.0
"""Fewer transactions a second than this say nothing about one of them."""
_PAGE_BYTES = 8192


@dataclass(frozen=True)
class Pages:
    """Per second, in a stall and usually."""

    seen: float
    usual: float
    log_seen: float
    log_usual: float
    each: float
    """Whole pages for a transaction."""
    each_usual: float

    @property
    def share(self) -> float:
        """Of the log's bytes."""
        return min(1.0, self.seen * _PAGE_BYTES / self.log_seen) if self.log_seen > 0 else 0.0

    @property
    def flood(self) -> bool:
        more = self.seen >= _IMAGES_FACTOR * self.usual and self.log_seen >= _LOG_FACTOR * self.log_usual
        # A disk that is at its limit bounds the flood itself: then a transaction needs far more pages than usual.
        heavy = self.seen >= self.usual and self.each >= _EACH_FACTOR * self.each_usual
        return self.seen >= _LEAST and (more or heavy) and self.share >= _IMAGE_SHARE


def whole_pages(recording: Recording, stall: Stall) -> Pages:
    images, log = recording.series("wal", "full_page_images"), recording.role("wal_bytes")
    around = (stall.start_s - _BEFORE_S, stall.end_s + _AFTER_S)
    seen, usual = images.between(*around).mean(), images.outside(recording.stalls).median()
    return Pages(
        seen=seen,
        usual=usual,
        log_seen=log.between(*around).mean(),
        log_usual=log.outside(recording.stalls).median(),
        each=seen / max(stall.mean_per_s, _RARE_S),
        each_usual=usual / max(stall.usual_per_s, _RARE_S),
    )


def flooded_by_pages(recording: Recording, stall: Stall | None) -> bool:
    """False where it is not known."""
    try:
        return stall is not None and whole_pages(recording, stall).flood
    except MissingFact:
        return False
