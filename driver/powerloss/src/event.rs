//! The record's events, and the file that they stand in.
//!
//! An event's number is its place in the file, counted from 1. A write is numbered when it is complete, a flush when
//! it is complete; so all that has a smaller number than a flush was there when the flush was answered.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

pub const SECTOR_BYTES: u64 = 512;
pub const EVENT_BYTES: usize = 40;
pub const HEADER_BYTES: usize = 64;
const MAGIC: &[u8; 8] = b"DYNOPL01";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum What {
    /// Data arrived.
    Write = 1,
    /// A range became zeros: discard, hole punched, zeros written without data.
    Zero = 2,
    /// All before it is on the medium.
    Flush = 3,
    /// What is before it is the start; counts as a flush.
    Base = 4,
    /// A flush that failed; what was written since the flush before it is lost for ever.
    FlushFailed = 5,
}

impl What {
    fn from_number(number: u32) -> Option<Self> {
        [Self::Write, Self::Zero, Self::Flush, Self::Base, Self::FlushFailed]
            .into_iter()
            .find(|what| *what as u32 == number)
    }

    /// Whether it changes the image.
    pub fn changes(self) -> bool {
        matches!(self, Self::Write | Self::Zero)
    }

    /// Whether all before it is on the medium.
    pub fn covers(self) -> bool {
        matches!(self, Self::Flush | Self::Base)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    pub what: What,
    pub seq: u64,
    /// First sector of the image.
    pub sector: u64,
    pub sectors: u32,
    /// First sector of the data in the log; 0 when there is none.
    pub data: u64,
    /// CLOCK_MONOTONIC.
    pub time_ns: u64,
}

impl Event {
    pub fn encode(&self) -> [u8; EVENT_BYTES] {
        let mut bytes = [0; EVENT_BYTES];
        bytes[0..4].copy_from_slice(&(self.what as u32).to_le_bytes());
        bytes[4..8].copy_from_slice(&self.sectors.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.seq.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.sector.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.data.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.time_ns.to_le_bytes());
        bytes
    }

    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let word = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        let half = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        Some(Self {
            what: What::from_number(half(0)?)?,
            sectors: half(4)?,
            seq: word(8)?,
            sector: word(16)?,
            data: word(24)?,
            time_ns: word(32)?,
        })
    }

    pub fn end(&self) -> u64 {
        self.sector + u64::from(self.sectors)
    }

    pub fn bytes(&self) -> u64 {
        u64::from(self.sectors) * SECTOR_BYTES
    }
}

pub fn header(sectors: u64) -> [u8; HEADER_BYTES] {
    let mut bytes = [0; HEADER_BYTES];
    bytes[..8].copy_from_slice(MAGIC);
    bytes[8..16].copy_from_slice(&sectors.to_le_bytes());
    bytes
}

/// The events of a recording, read from their file a block at a time.
pub struct Events {
    file: File,
    /// Size of the image.
    pub sectors: u64,
    /// How many there are, which is also the number of the last one.
    pub count: u64,
}

/// How many events are read at once.
const BLOCK: u64 = 16_384;

impl Events {
    pub fn open(store: &Path) -> io::Result<Self> {
        let path = store.join("events");
        let file = File::open(&path).map_err(|error| named(&path, &error))?;
        let mut head = [0; HEADER_BYTES];
        file.read_exact_at(&mut head, 0).map_err(|error| named(&path, &error))?;
        if head[..8] != MAGIC[..] {
            return Err(io::Error::other(format!(
                "{} is no recording of this version",
                path.display()
            )));
        }
        let mut size = [0; 8];
        size.copy_from_slice(&head[8..16]);
        // A record that was cut by a kill is not counted.
        let count = (file.metadata()?.len() - HEADER_BYTES as u64) / EVENT_BYTES as u64;
        Ok(Self {
            file,
            sectors: u64::from_le_bytes(size),
            count,
        })
    }

    /// Calls `each` with the events `first..=last`, in order. Fails on a record that is none.
    pub fn scan(&self, first: u64, last: u64, mut each: impl FnMut(Event)) -> io::Result<()> {
        let last = last.min(self.count);
        let mut next = first.max(1);
        let mut bytes = Vec::new();
        while next <= last {
            let many = (last - next + 1).min(BLOCK);
            bytes.resize(many as usize * EVENT_BYTES, 0);
            self.file
                .read_exact_at(&mut bytes, HEADER_BYTES as u64 + (next - 1) * EVENT_BYTES as u64)?;
            for record in bytes.chunks_exact(EVENT_BYTES) {
                let event = Event::decode(record)
                    .filter(|event| event.seq == next)
                    .ok_or_else(|| io::Error::other(format!("event {next} of the recording is damaged")))?;
                each(event);
                next += 1;
            }
        }
        Ok(())
    }

    pub fn get(&self, seq: u64) -> io::Result<Event> {
        let mut found = None;
        self.scan(seq, seq, |event| found = Some(event))?;
        found.ok_or_else(|| io::Error::other(format!("the recording has no event {seq}")))
    }
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_read_as_it_was_written() {
        let event = Event {
            what: What::Zero,
            seq: 7,
            sector: 1 << 40,
            sectors: 9,
            data: 3,
            time_ns: u64::MAX,
        };
        assert_eq!(Event::decode(&event.encode()), Some(event));
        assert_eq!(Event::decode(&[9; EVENT_BYTES]), None);
        assert_eq!(Event::decode(&[]), None);
    }
}
