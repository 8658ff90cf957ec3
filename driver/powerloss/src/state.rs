//! What a crash state is: all up to a flush, and a part of the events after it that its seed chooses.

use std::io;

use serde::{Deserialize, Serialize};

use crate::event::{Event, What};
use crate::random::hash;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Nothing after the flush.
    Flush,
    /// All up to an event.
    Prefix,
    /// A random part.
    Subset,
    /// All but one: later writes without an earlier one.
    Reorder,
    /// One write cut inside, at multiples of 512 bytes.
    Torn512,
    /// One write cut inside, at multiples of 4096 bytes.
    Torn4k,
}

impl Kind {
    pub const ALL: [Self; 6] = [
        Self::Flush,
        Self::Prefix,
        Self::Subset,
        Self::Reorder,
        Self::Torn512,
        Self::Torn4k,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Flush => "flush",
            Self::Prefix => "prefix",
            Self::Subset => "subset",
            Self::Reorder => "reorder",
            Self::Torn512 => "torn512",
            Self::Torn4k => "torn4k",
        }
    }

    pub fn parse(name: &str) -> Result<Self, String> {
        let names: Vec<_> = Self::ALL.map(Self::name).to_vec();
        Self::ALL
            .into_iter()
            .find(|kind| kind.name() == name)
            .ok_or_else(|| format!("there is no kind `{name}`; there are {}", names.join(", ")))
    }

    /// Sectors between the places where a write can be cut.
    pub fn granularity(self) -> Option<u64> {
        match self {
            Self::Torn512 => Some(1),
            Self::Torn4k => Some(8),
            _ => None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    pub id: String,
    pub kind: Kind,
    pub flush_seq: u64,
    pub next_flush_seq: Option<u64>,
    pub seed: u64,
    pub event: u64,
    pub rank: u32,
    pub why: String,
    pub picked_by: String,
    pub flush_time_monotonic_s: f64,
    pub time_monotonic_s: f64,
}

/// A part of an event that is on the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    pub what: What,
    pub sector: u64,
    pub sectors: u64,
    pub data: u64,
}

impl Part {
    pub fn whole(event: &Event) -> Self {
        Self {
            what: event.what,
            sector: event.sector,
            sectors: u64::from(event.sectors),
            data: event.data,
        }
    }
}

impl State {
    /// Which parts of an event after the flush and before the next one are on the medium.
    pub fn keeps(&self, event: &Event) -> Vec<Part> {
        match self.kind.granularity() {
            Some(granularity) if event.seq == self.event => torn(event, granularity, self.seed),
            _ if self.keeps_whole(event.seq) => vec![Part::whole(event)],
            _ => Vec::new(),
        }
    }

    /// Whether an event that the power cut could take is there whole. What is torn is not.
    pub fn keeps_whole(&self, seq: u64) -> bool {
        match self.kind {
            Kind::Flush => false,
            Kind::Prefix => seq <= self.event,
            Kind::Subset => self.by_chance(seq),
            Kind::Reorder => seq != self.event,
            // Three of four torn writes find all before them on the medium, the others a part of it.
            Kind::Torn512 | Kind::Torn4k => seq < self.event && (hash(self.seed, 0) % 4 != 0 || self.by_chance(seq)),
        }
    }

    /// A quarter, a half or three quarters of the events.
    fn by_chance(&self, seq: u64) -> bool {
        hash(self.seed, seq) % 4 <= hash(self.seed, u64::MAX) % 3
    }

    pub fn check(&self) -> io::Result<()> {
        match self.next_flush_seq {
            Some(next) if next <= self.flush_seq => {
                Err(io::Error::other("a state's next flush is not after its flush"))
            }
            _ => Ok(()),
        }
    }
}

/// Lengths of the pieces that a write falls into, in sectors; whole multiples of the granularity on the disk lie
/// between the first and the last.
pub fn pieces(event: &Event, granularity: u64) -> Vec<u64> {
    let mut lengths = Vec::new();
    let mut at = event.sector;
    while at < event.end() {
        let next = ((at / granularity + 1) * granularity).min(event.end());
        lengths.push(next - at);
        at = next;
    }
    lengths
}

fn torn(event: &Event, granularity: u64, seed: u64) -> Vec<Part> {
    let lengths = pieces(event, granularity);
    if event.what != What::Write {
        return Vec::new();
    }
    let mut parts = Vec::new();
    let mut at = 0;
    for (length, there) in lengths.iter().zip(pieces_there(lengths.len(), seed)) {
        if there {
            let (sector, data) = (event.sector + at, event.data + at);
            parts.push(Part {
                what: event.what,
                sector,
                sectors: *length,
                data,
            });
        }
        at += length;
    }
    parts
}

/// Which of a torn write's pieces are there: the first ones, the last ones, or any; never none and never all, unless
/// there is only one, which is not there then.
pub fn pieces_there(many: usize, seed: u64) -> Vec<bool> {
    if many < 2 {
        return vec![false; many];
    }
    let many = many as u64;
    let cut = 1 + hash(seed, 1) % (many - 1);
    let shape = hash(seed, 2) % 3;
    // One piece is surely there and one surely not, so that the write is torn whatever chance says of the others.
    let (there, gone) = (hash(seed, 3) % many, (hash(seed, 3) % many + cut) % many);
    (0..many)
        .map(|number| match shape {
            0 => number < cut,
            1 => number >= cut,
            _ => number == there || (number != gone && hash(seed, 4 + number) % 2 == 0),
        })
        .collect()
}
