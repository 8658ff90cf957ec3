//! A recording read again: its flushes, and the image as it was at any of them or at a crash state.

use std::io;
use std::path::Path;

use crate::event::{Event, Events, What};
use crate::map::SectorMap;
use crate::state::{Part, State};

/// A flush, a base or a failed flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Boundary {
    pub seq: u64,
    pub what: What,
    pub time_ns: u64,
}

/// The events between two boundaries: the numbers between `begin` and `end`, both left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The last flush that was completed.
    pub flush_seq: u64,
    pub flush_time_ns: u64,
    pub begin: u64,
    /// The next flush, completed or failed.
    pub next: Option<u64>,
    /// Greater than the last event's number by one.
    pub end: u64,
    pub end_time_ns: u64,
}

impl Window {
    pub fn count(&self) -> u64 {
        self.end - self.begin - 1
    }
}

pub struct Recording {
    events: Events,
    boundaries: Vec<Boundary>,
    /// Ranges of events that a failed flush lost, with its number: first, and the failed flush itself.
    lost: Vec<(u64, u64)>,
    last_time_ns: u64,
}

impl Recording {
    pub fn open(store: &Path) -> io::Result<Self> {
        let events = Events::open(store)?;
        let (mut boundaries, mut lost, mut last_time_ns) = (Vec::<Boundary>::new(), Vec::new(), 0);
        events.scan(1, events.count, |event| {
            last_time_ns = event.time_ns;
            if event.what.changes() {
                return;
            }
            if event.what == What::FlushFailed {
                lost.push((boundaries.last().map_or(1, |last| last.seq + 1), event.seq));
            }
            boundaries.push(Boundary {
                seq: event.seq,
                what: event.what,
                time_ns: event.time_ns,
            });
        })?;
        Ok(Self {
            events,
            boundaries,
            lost,
            last_time_ns,
        })
    }

    pub fn count(&self) -> u64 {
        self.events.count
    }

    pub fn sectors(&self) -> u64 {
        self.events.sectors
    }

    pub fn get(&self, seq: u64) -> io::Result<Event> {
        self.events.get(seq)
    }

    pub fn scan(&self, first: u64, last: u64, each: impl FnMut(Event)) -> io::Result<()> {
        self.events.scan(first, last, each)
    }

    /// The start of what is tested; 0: the empty disk.
    pub fn base(&self) -> u64 {
        self.boundaries
            .iter()
            .rev()
            .find(|boundary| boundary.what == What::Base)
            .map_or(0, |boundary| boundary.seq)
    }

    /// Whether a flush that failed before `before` took the event with it.
    pub fn is_lost(&self, seq: u64, before: u64) -> bool {
        // Ranges are in order and do not overlap.
        let after = self.lost.partition_point(|(_, failed)| *failed <= seq);
        self.lost
            .get(after)
            .is_some_and(|(first, failed)| *first <= seq && *failed < before)
    }

    /// All windows from the base on, in order.
    pub fn windows(&self) -> Vec<Window> {
        let base = self.base();
        let (mut flush_seq, mut flush_time_ns, mut begin) = (0, 0, 0);
        let mut windows = Vec::new();
        let mut add = |flush_seq, flush_time_ns, begin, next, end: u64, end_time_ns| {
            if begin >= base {
                windows.push(Window {
                    flush_seq,
                    flush_time_ns,
                    begin,
                    next,
                    end,
                    end_time_ns,
                });
            }
        };
        for boundary in &self.boundaries {
            add(
                flush_seq,
                flush_time_ns,
                begin,
                Some(boundary.seq),
                boundary.seq,
                boundary.time_ns,
            );
            begin = boundary.seq;
            if boundary.what.covers() {
                (flush_seq, flush_time_ns) = (boundary.seq, boundary.time_ns);
            }
        }
        add(
            flush_seq,
            flush_time_ns,
            begin,
            None,
            self.count() + 1,
            self.last_time_ns.max(flush_time_ns),
        );
        windows
    }
}

/// Builds maps, and keeps some on the way so that the next one is near.
pub struct Replay {
    recording: Recording,
    /// Maps with all events up to a number, in order of it.
    kept: Vec<(u64, SectorMap)>,
    interval: u64,
}

/// At most this many maps are kept, which bounds memory: each takes at most 1/128 of the image.
const KEPT_MAX: u64 = 16;
const INTERVAL_MIN: u64 = 32_768;

impl Replay {
    pub fn open(store: &Path) -> io::Result<Self> {
        let recording = Recording::open(store)?;
        let interval = (recording.count() / KEPT_MAX + 1).max(INTERVAL_MIN);
        let kept = vec![(0, SectorMap::new(recording.sectors()))];
        Ok(Self {
            recording,
            kept,
            interval,
        })
    }

    pub fn recording(&self) -> &Recording {
        &self.recording
    }

    /// The image with all events up to a number, but for those that failed flushes up to it lost.
    pub fn map_at(&mut self, seq: u64) -> io::Result<SectorMap> {
        let seq = seq.min(self.recording.count());
        let near = self.kept.partition_point(|(at, _)| *at <= seq) - 1;
        let (mut at, mut map) = self.kept[near].clone();
        while at < seq {
            let next = ((at / self.interval + 1) * self.interval).min(seq);
            let recording = &self.recording;
            // A failed flush that comes later has not lost anything yet, if it is after `seq`; but a kept map serves
            // all numbers after it, so a stretch that some failed flush will lose is not kept.
            recording.scan(at + 1, next, |event| {
                if !recording.is_lost(event.seq, seq + 1) {
                    apply(&mut map, &Part::whole(&event));
                }
            })?;
            at = next;
            if at % self.interval == 0 && self.settled(at) && self.kept.last().is_none_or(|(last, _)| *last < at) {
                self.kept.push((at, map.clone()));
            }
        }
        Ok(map)
    }

    /// Whether no failed flush after it lost something up to it.
    fn settled(&self, at: u64) -> bool {
        !self
            .recording
            .lost
            .iter()
            .any(|(first, failed)| *first <= at && at < *failed)
    }

    /// The image of a crash state.
    pub fn state_map(&mut self, state: &State) -> io::Result<SectorMap> {
        state.check()?;
        let mut map = self.map_at(state.flush_seq)?;
        let end = state.next_flush_seq.unwrap_or(u64::MAX);
        let recording = &self.recording;
        if state.flush_seq > recording.count() {
            return Err(io::Error::other(format!(
                "the recording has no event {}",
                state.flush_seq
            )));
        }
        recording.scan(state.flush_seq + 1, end - 1, |event| {
            if event.what.changes() && !recording.is_lost(event.seq, end) {
                for part in state.keeps(&event) {
                    apply(&mut map, &part);
                }
            }
        })?;
        Ok(map)
    }
}

fn apply(map: &mut SectorMap, part: &Part) {
    match part.what {
        What::Write => map.set_log(part.sector, part.sectors, part.data),
        What::Zero => map.set_zeros(part.sector, part.sectors),
        What::Flush | What::Base | What::FlushFailed => {}
    }
}
