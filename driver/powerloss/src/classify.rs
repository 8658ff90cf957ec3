//! What a write is, told from where it lies (hints: which file has which blocks) or, without hints, from its pattern.

use std::io;
use std::path::Path;

use serde::Deserialize;

use crate::event::{Event, SECTOR_BYTES, What};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    Log,
    DataPage,
    Doublewrite,
    Header,
    Metadata,
    File,
    Discard,
}

impl Class {
    pub const ALL: [Self; 7] = [
        Self::Log,
        Self::DataPage,
        Self::Doublewrite,
        Self::Header,
        Self::Metadata,
        Self::File,
        Self::Discard,
    ];

    /// How much a cut here may tell.
    pub fn rank(self) -> u32 {
        match self {
            Self::Log => 90,
            Self::DataPage => 85,
            Self::Doublewrite => 80,
            Self::Header => 75,
            Self::Metadata => 65,
            Self::File => 50,
            Self::Discard => 40,
        }
    }

    /// How often its turn comes: torn pages and logs are what servers guard against.
    pub fn turns(self) -> usize {
        match self {
            Self::DataPage => 3,
            Self::Log | Self::Doublewrite => 2,
            _ => 1,
        }
    }

    pub fn words(self) -> &'static str {
        match self {
            Self::Log => "log write in flight",
            Self::DataPage => "data page write in flight",
            Self::Doublewrite => "doublewrite in flight",
            Self::Header => "header write in flight",
            Self::Metadata => "file-system metadata in flight",
            Self::File => "write to another file in flight",
            Self::Discard => "discard in flight",
        }
    }

    fn of_role(role: &str) -> Self {
        match role {
            "log" => Self::Log,
            "data" => Self::DataPage,
            "doublewrite" => Self::Doublewrite,
            "header" => Self::Header,
            _ => Self::File,
        }
    }
}

/// `hints.json`: where the files lay when the load ended.
#[derive(Deserialize, Default)]
pub struct Hints {
    #[serde(default)]
    files: Vec<HintedFile>,
}

#[derive(Deserialize)]
struct HintedFile {
    name: String,
    role: String,
    /// First byte and length on the disk.
    ranges: Vec<(u64, u64)>,
}

/// An append ends where the next one begins; so many ends are remembered.
const STREAMS: usize = 16;
/// Largest write that counts as one to a log.
const APPEND_BYTES_MAX: u64 = 256 * 1024;
/// Largest write that counts as one to a header.
const HEADER_BYTES_MAX: u64 = 4096;

pub struct Classifier {
    hints: Hints,
    /// First byte, end, file; in order.
    ranges: Vec<(u64, u64, usize)>,
    /// First sector and end of the latest write of each stream, and how often it grew.
    streams: Vec<(u64, u64, u32)>,
}

impl Classifier {
    pub fn new(hints: Hints) -> Self {
        let mut ranges: Vec<_> = hints
            .files
            .iter()
            .enumerate()
            .flat_map(|(file, hint)| {
                hint.ranges
                    .iter()
                    .map(move |&(first, length)| (first, first + length, file))
            })
            .collect();
        ranges.sort_unstable();
        Self {
            hints,
            ranges,
            streams: Vec::new(),
        }
    }

    /// With the hints of the store, if it has some.
    pub fn of_store(store: &Path) -> io::Result<Self> {
        match std::fs::read(store.join("hints.json")) {
            Ok(text) => Ok(Self::new(serde_json::from_slice(&text)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::new(Hints::default())),
            Err(error) => Err(error),
        }
    }

    /// The class of an event, and the file if one is known. Events come in their order.
    pub fn classify(&mut self, event: &Event) -> (Class, Option<&str>) {
        if event.what == What::Zero {
            return (Class::Discard, None);
        }
        if self.ranges.is_empty() {
            return (self.by_pattern(event), None);
        }
        let byte = event.sector * SECTOR_BYTES;
        let after = self.ranges.partition_point(|(first, _, _)| *first <= byte);
        match after.checked_sub(1).map(|at| self.ranges[at]) {
            Some((_, end, file)) if byte < end => {
                let hint = &self.hints.files[file];
                (Class::of_role(&hint.role), Some(&hint.name))
            }
            _ => (Class::Metadata, None),
        }
    }

    /// Small writes that go on where one ended, or write its last part again, are a log; small ones that come back to
    /// the same place a header; the others data.
    fn by_pattern(&mut self, event: &Event) -> Class {
        let near = |&(first, end, _): &(u64, u64, u32)| first <= event.sector && event.sector <= end;
        let Some(at) = self.streams.iter().position(near) else {
            if self.streams.len() == STREAMS {
                self.streams.remove(0);
            }
            self.streams.push((event.sector, event.end(), 0));
            return Class::DataPage;
        };
        let (first, end, grown) = self.streams.remove(at);
        let same = (event.sector, event.end()) == (first, end);
        let grown = if same { grown } else { grown.saturating_add(1) };
        self.streams.push((event.sector, event.end(), grown));
        if event.bytes() > APPEND_BYTES_MAX {
            Class::DataPage
        } else if same && grown == 0 && event.bytes() <= HEADER_BYTES_MAX {
            Class::Header
        } else {
            Class::Log
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(sector: u64, sectors: u32) -> Event {
        Event {
            what: What::Write,
            seq: 1,
            sector,
            sectors,
            data: 1,
            time_ns: 0,
        }
    }

    #[test]
    fn a_pattern_tells_a_log_from_pages_and_a_header() {
        let mut classifier = Classifier::new(Hints::default());
        let classes = [
            write(0, 8),
            write(8, 8),
            write(8, 16),
            write(900_000, 32),
            write(500_000, 32),
            write(100_000, 1),
            write(100_000, 1),
        ]
        .map(|event| classifier.classify(&event).0);
        use Class::{DataPage, Header, Log};
        assert_eq!(classes, [DataPage, Log, Log, DataPage, DataPage, DataPage, Header]);
    }

    #[test]
    fn hints_name_files() {
        let text = r#"{"files":[{"name":"a/log","role":"log","ranges":[[4096,8192]]},
                                {"name":"b","role":"x","ranges":[[40960,4096]]}]}"#;
        let mut classifier = Classifier::new(serde_json::from_str(text).unwrap_or_default());
        assert_eq!(classifier.classify(&write(8, 8)), (Class::Log, Some("a/log")));
        assert_eq!(classifier.classify(&write(23, 1)), (Class::Log, Some("a/log")));
        assert_eq!(classifier.classify(&write(24, 1)), (Class::Metadata, None));
        assert_eq!(classifier.classify(&write(80, 1)), (Class::File, Some("b")));
        let discard = Event {
            what: What::Zero,
            ..write(8, 8)
        };
        assert_eq!(classifier.classify(&discard).0, Class::Discard);
    }
}
