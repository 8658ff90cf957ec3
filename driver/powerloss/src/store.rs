//! The recording disk: a log of data, a log of events, and where each sector of the image lies now.
//!
//! Data is appended before it is numbered, so that events never name data that is not there. Nothing is synced: the
//! power cut that is recorded is not ours.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;

use crate::event::{Event, HEADER_BYTES, SECTOR_BYTES, What, header};
use crate::fault::Fault;
use crate::images::{Images, read_runs, sectors_of};
use crate::map::{DATA_SECTORS_MAX, SectorMap};
use crate::replay::Replay;
use crate::stamp::Stamp;

/// Nanoseconds of CLOCK_MONOTONIC.
pub type Clock = fn() -> u64;

/// The only image's name and number.
pub const IMAGE: &str = "disk.img";
const NUMBER: u64 = 2;

pub struct Store {
    folder: PathBuf,
    data: File,
    events: File,
    stamp: Stamp,
    clock: Clock,
    sectors: u64,
    /// Next free sector of the log; 0 means "none" in the map.
    data_next: AtomicU64,
    data_end: u64,
    inner: Mutex<Inner>,
}

struct Inner {
    map: SectorMap,
    seq: u64,
    flushes: u64,
    flush_seq: u64,
    base_seq: u64,
    cut: bool,
    fault: Fault,
    /// Why we failed, the first time.
    error: String,
}

#[derive(Serialize, Debug, PartialEq, Eq)]
pub struct Status {
    pub events: u64,
    pub flushes: u64,
    pub flush_seq: u64,
    pub base_seq: u64,
    pub log_bytes: u64,
    pub log_bytes_max: u64,
    pub cut: bool,
    /// How often the fault that was asked for has struck.
    pub faults: u64,
    pub error: String,
}

impl Store {
    /// A new recording in a folder. `log_bytes_max` limits the data that it keeps.
    pub fn create(folder: &Path, bytes: u64, log_bytes_max: u64, clock: Clock) -> io::Result<Self> {
        if bytes == 0 || bytes % 4096 != 0 {
            return Err(io::Error::other(format!(
                "an image of {bytes} bytes is no multiple of 4096"
            )));
        }
        let new = |name: &str| {
            let path = folder.join(name);
            OpenOptions::new()
                .read(true)
                .write(true)
                .create_new(true)
                .open(&path)
                .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
        };
        let sectors = bytes / SECTOR_BYTES;
        let events = new("events")?;
        events.write_all_at(&header(sectors), 0)?;
        Ok(Self {
            folder: folder.to_owned(),
            data: new("data")?,
            events,
            stamp: Stamp::create(&folder.join("stamp"))?,
            clock,
            sectors,
            data_next: AtomicU64::new(1),
            data_end: (log_bytes_max / SECTOR_BYTES).min(DATA_SECTORS_MAX),
            inner: Mutex::new(Inner {
                map: SectorMap::new(sectors),
                seq: 0,
                flushes: 0,
                flush_seq: 0,
                base_seq: 0,
                cut: false,
                fault: Fault::default(),
                error: String::new(),
            }),
        })
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        // A thread that panicked left nothing half done that matters: each change is one assignment or fill.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn status(&self) -> Status {
        let inner = self.inner();
        Status {
            events: inner.seq,
            flushes: inner.flushes,
            flush_seq: inner.flush_seq,
            base_seq: inner.base_seq,
            log_bytes: self.data_next.load(Ordering::Relaxed).min(self.data_end) * SECTOR_BYTES,
            log_bytes_max: self.data_end * SECTOR_BYTES,
            cut: inner.cut,
            faults: inner.fault.struck,
            error: inner.error.clone(),
        }
    }

    pub fn set_fault(&self, fault: Fault, file: Option<&str>) -> Result<(), String> {
        if let Some(file) = file {
            return Err(format!("a disk knows no file `{file}`; a recorded folder does"));
        }
        self.inner().fault.merge(fault);
        Ok(())
    }

    /// Power goes: every write and flush from now on fails and is not recorded.
    pub fn cut(&self) {
        self.inner().cut = true;
    }

    /// What is there now is the start.
    pub fn base(&self) -> Result<u64, i32> {
        let mut inner = self.inner();
        let seq = self.record(&mut inner, What::Base, 0, 0, 0)?;
        inner.base_seq = seq;
        inner.flush_seq = seq;
        self.stamp.set_flush(seq);
        Ok(seq)
    }

    /// Numbers an event and writes it down.
    fn record(&self, inner: &mut Inner, what: What, sector: u64, sectors: u64, data: u64) -> Result<u64, i32> {
        if inner.cut {
            return Err(libc::EIO);
        }
        let seq = inner.seq + 1;
        let sectors = u32::try_from(sectors).map_err(|_| libc::EINVAL)?;
        let event = Event {
            what,
            seq,
            sector,
            sectors,
            data,
            time_ns: (self.clock)(),
        };
        let bytes = event.encode();
        let place = HEADER_BYTES as u64 + inner.seq * bytes.len() as u64;
        self.events
            .write_all_at(&bytes, place)
            .map_err(|error| refuse(inner, "events", &error))?;
        inner.seq = seq;
        self.stamp.set_event(seq);
        Ok(seq)
    }

    /// Writes data into the log. Returns its first sector there.
    fn append(&self, data: &[u8]) -> Result<u64, i32> {
        let sectors = data.len() as u64 / SECTOR_BYTES;
        let place = self
            .data_next
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |next| {
                (next + sectors <= self.data_end).then_some(next + sectors)
            })
            .map_err(|_| {
                let full = io::Error::from_raw_os_error(libc::ENOSPC);
                refuse(&mut self.inner(), "the limit of the log is reached", &full)
            })?;
        self.data
            .write_all_at(data, place * SECTOR_BYTES)
            .map_err(|error| refuse(&mut self.inner(), "data", &error))?;
        Ok(place)
    }

    /// A flush that fails takes with it what it should have kept: the image is again what it was at the flush before.
    fn lose(&self, inner: &mut Inner) -> Result<(), i32> {
        self.record(inner, What::FlushFailed, 0, 0, 0)?;
        let map = Replay::open(&self.folder).and_then(|mut replay| {
            let last = replay.recording().count();
            replay.map_at(last)
        });
        inner.map = map.map_err(|error| refuse(inner, "events", &error))?;
        Ok(())
    }
}

/// Remembers why, and gives the number of the error for the kernel.
fn refuse(inner: &mut Inner, what: &str, error: &io::Error) -> i32 {
    if inner.error.is_empty() {
        inner.error = format!("{what}: {error}");
    }
    error.raw_os_error().unwrap_or(libc::EIO)
}

impl Images for Store {
    fn names(&self) -> Vec<(u64, String)> {
        vec![(NUMBER, IMAGE.to_owned())]
    }

    fn bytes(&self) -> u64 {
        self.sectors * SECTOR_BYTES
    }

    fn read(&self, _: u64, offset: u64, into: &mut [u8]) -> Result<(), i32> {
        let mut runs = Vec::new();
        {
            let inner = self.inner();
            let (sector, sectors) = sectors_of(offset, into.len() as u64);
            inner
                .map
                .runs(sector, sectors, |first, many, source| runs.push((first, many, source)));
        }
        read_runs(&runs, &self.data, None, offset, into).map_err(|error| refuse(&mut self.inner(), "data", &error))
    }

    fn write(&self, _: u64, offset: u64, data: &[u8]) -> Result<(), i32> {
        let bytes = data.len() as u64;
        {
            let mut inner = self.inner();
            if inner.cut {
                return Err(libc::EIO);
            }
            if !inner.fault.takes(bytes) {
                return inner.fault.answer(libc::ENOSPC);
            }
        }
        let place = self.append(data)?;
        let mut inner = self.inner();
        let (sector, sectors) = (offset / SECTOR_BYTES, bytes / SECTOR_BYTES);
        self.record(&mut inner, What::Write, sector, sectors, place)?;
        inner.map.set_log(sector, sectors, place);
        Ok(())
    }

    fn zero(&self, _: u64, offset: u64, bytes: u64) -> Result<(), i32> {
        let mut inner = self.inner();
        let (sector, sectors) = (offset / SECTOR_BYTES, bytes / SECTOR_BYTES);
        self.record(&mut inner, What::Zero, sector, sectors, 0)?;
        inner.map.set_zeros(sector, sectors);
        Ok(())
    }

    fn flush(&self, _: u64) -> Result<(), i32> {
        let mut inner = self.inner();
        if !inner.cut && inner.fault.flush_fails() {
            self.lose(&mut inner)?;
            return inner.fault.answer(libc::EIO);
        }
        let seq = self.record(&mut inner, What::Flush, 0, 0, 0)?;
        inner.flushes += 1;
        inner.flush_seq = seq;
        // Before the answer: whoever was answered finds this number or a later one in the page.
        self.stamp.set_flush(seq);
        Ok(())
    }
}
