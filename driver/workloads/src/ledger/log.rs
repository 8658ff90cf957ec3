//! The acknowledgement log: what was sent and what was acknowledged, each with the stamp of the recording disk. It is
//! kept off the disk under test.
//!
//! One JSON object a line, written whole in one call, so that several clients may append to one file.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;

use dyno_core::session::{Failure, ServerError};

/// What a recording disk says of itself: the number of the last flush that ended, and of the last event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    pub flush: u64,
    pub event: u64,
}

/// Both files; each may be absent.
#[derive(Debug, Default)]
pub struct Log {
    acks: Option<File>,
    stamps: Option<File>,
}

impl Log {
    /// Opens what is named; an empty name means none.
    pub fn open(ack_file: &str, stamp_file: &str) -> Result<Log, String> {
        let opened = |name: &str, what: &str, options: &OpenOptions| match name {
            "" => Ok(None),
            name => options
                .open(name)
                .map(Some)
                .map_err(|error| format!("{what}: {name} cannot be opened: {error}")),
        };
        Ok(Log {
            acks: opened(ack_file, "ack_file", OpenOptions::new().append(true).create(true))?,
            stamps: opened(stamp_file, "stamp_file", OpenOptions::new().read(true))?,
        })
    }

    /// The stamp now. Read after an acknowledgement has arrived it may be later than the flush that made it durable,
    /// never earlier: the claim that follows can only be weaker than the truth.
    pub fn stamp(&self) -> io::Result<Stamp> {
        let Some(file) = &self.stamps else {
            return Ok(Stamp::default());
        };
        // The writer changes the page while we read: two equal readings are one that was not torn.
        let mut last = read(file)?;
        loop {
            let now = read(file)?;
            if now == last {
                return Ok(now);
            }
            last = now;
        }
    }

    /// Appends one line; `fields` are the members that go before stamp and time.
    pub fn write(&self, fields: &str) -> Result<(), Failure> {
        let Some(mut file) = self.acks.as_ref() else {
            return Ok(());
        };
        self.stamp()
            .and_then(|Stamp { flush, event }| {
                let line = format!(
                    "{{{fields},\"flush\":{flush},\"event\":{event},\"t_ns\":{}}}\n",
                    monotonic_ns()
                );
                file.write_all(line.as_bytes())
            })
            .map_err(|error| {
                Failure::Fatal(ServerError {
                    code: "DYNO1".into(),
                    message: format!("the acknowledgement log or the stamp file failed: {error}"),
                    ..ServerError::default()
                })
            })
    }
}

fn read(file: &File) -> io::Result<Stamp> {
    let mut bytes = [0u8; 16];
    file.read_exact_at(&mut bytes, 0)?;
    let word = |at: usize| {
        let mut part = [0u8; 8];
        part.copy_from_slice(&bytes[at..at + 8]);
        u64::from_le_bytes(part)
    };
    Ok(Stamp {
        flush: word(0),
        event: word(8),
    })
}

/// CLOCK_MONOTONIC, which the recording disk and the control plane read, too.
fn monotonic_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live local of the right type.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_stamp() {
        let folder = std::env::temp_dir().join(format!("dyno-ledger-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (acks, stamps) = (folder.join("acks"), folder.join("stamp"));
        let mut page = 7u64.to_le_bytes().to_vec();
        page.extend(9u64.to_le_bytes());
        std::fs::write(&stamps, page).unwrap();
        let log = Log::open(acks.to_str().unwrap(), stamps.to_str().unwrap()).unwrap();
        log.write("\"e\":\"ack\"").unwrap();
        let text = std::fs::read_to_string(&acks).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(
            text.starts_with("{\"e\":\"ack\",\"flush\":7,\"event\":9,\"t_ns\":"),
            "{text}"
        );
        assert!(text.ends_with("}\n"), "{text}");
    }

    #[test]
    fn no_files_mean_no_log() {
        let log = Log::open("", "").unwrap();
        assert_eq!(log.stamp().unwrap(), Stamp::default());
        assert!(log.write("\"e\":\"ack\"").is_ok());
        assert!(Log::open("", "/nowhere/stamp").unwrap_err().starts_with("stamp_file: "));
    }
}
