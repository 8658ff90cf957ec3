//! What a folder of disk images can do, the images of crash states, and reading by way of a map.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::event::SECTOR_BYTES;
use crate::map::{SectorMap, Source};
use crate::replay::Replay;
use crate::state::State;

/// Images of one size. Errors are numbers of the kernel. Writes and zeros come in whole sectors inside the image.
pub trait Images: Send + Sync + 'static {
    /// Numbers (from 2 on) and names.
    fn names(&self) -> Vec<(u64, String)>;
    fn bytes(&self) -> u64;
    fn read(&self, image: u64, offset: u64, into: &mut [u8]) -> Result<(), i32>;
    fn write(&self, image: u64, offset: u64, data: &[u8]) -> Result<(), i32>;
    fn zero(&self, image: u64, offset: u64, bytes: u64) -> Result<(), i32>;
    fn flush(&self, image: u64) -> Result<(), i32>;
}

/// The sectors that hold a range of bytes: the first and how many.
pub fn sectors_of(offset: u64, bytes: u64) -> (u64, u64) {
    let first = offset / SECTOR_BYTES;
    (first, (offset + bytes).div_ceil(SECTOR_BYTES) - first)
}

/// Reads bytes that lie in these runs (first sector, sectors, source), which cover them in order.
pub fn read_runs(
    runs: &[(u64, u64, Source)],
    log: &File,
    overlay: Option<&File>,
    offset: u64,
    into: &mut [u8],
) -> io::Result<()> {
    let end = offset + into.len() as u64;
    for &(first, many, source) in runs {
        let begin = (first * SECTOR_BYTES).max(offset);
        let until = ((first + many) * SECTOR_BYTES).min(end);
        let part = &mut into[(begin - offset) as usize..(until - offset) as usize];
        match (source, overlay) {
            (Source::Zeros, _) => part.fill(0),
            (Source::Log(data), _) => log.read_exact_at(part, data * SECTOR_BYTES + begin - first * SECTOR_BYTES)?,
            (Source::Overlay, Some(overlay)) => overlay.read_exact_at(part, begin)?,
            (Source::Overlay, None) => return Err(io::Error::other("a map without an overlay names it")),
        }
    }
    Ok(())
}

/// Crash states as images: read from the recording's log, written into a file of their own that has no name.
pub struct Presenter {
    store: PathBuf,
    data: File,
    bytes: u64,
    replay: Mutex<Replay>,
    images: Mutex<Shown>,
    /// The first failure of ours: what a server met then is no finding.
    error: Mutex<String>,
}

#[derive(Default)]
struct Shown {
    last: u64,
    images: BTreeMap<u64, Arc<Shadow>>,
}

struct Shadow {
    map: Mutex<SectorMap>,
    overlay: File,
}

/// More than these at once are a mistake.
const IMAGES_MAX: usize = 64;

impl Presenter {
    pub fn open(store: &Path) -> io::Result<Self> {
        let replay = Replay::open(store)?;
        Ok(Self {
            store: store.to_owned(),
            data: File::open(store.join("data"))?,
            bytes: replay.recording().sectors() * SECTOR_BYTES,
            replay: Mutex::new(replay),
            images: Mutex::default(),
            error: Mutex::default(),
        })
    }

    fn shown(&self) -> MutexGuard<'_, Shown> {
        self.images.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows a state. Returns the name of its image.
    pub fn present(&self, state: &State) -> io::Result<String> {
        let map = self
            .replay
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .state_map(state)?;
        let mut shown = self.shown();
        if shown.images.len() >= IMAGES_MAX {
            return Err(io::Error::other(format!(
                "{IMAGES_MAX} states are shown already; drop some"
            )));
        }
        shown.last += 1;
        let number = shown.last;
        let path = self.store.join(format!("overlay-{}-{number}", std::process::id()));
        let overlay = OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
        std::fs::remove_file(&path)?;
        shown.images.insert(
            number,
            Arc::new(Shadow {
                map: Mutex::new(map),
                overlay,
            }),
        );
        Ok(name(number))
    }

    /// Forgets a state and all that was written to it.
    pub fn drop_image(&self, file: &str) -> io::Result<()> {
        let mut shown = self.shown();
        let number = shown.images.keys().copied().find(|number| name(*number) == file);
        number
            .and_then(|number| shown.images.remove(&number))
            .map(|_| ())
            .ok_or_else(|| io::Error::other(format!("no state is shown as {file}")))
    }

    /// Why reading or writing an image failed, the first time; empty: it did not.
    pub fn error(&self) -> String {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn failed(&self, what: &str, error: &io::Error) -> i32 {
        let mut first = self.error.lock().unwrap_or_else(PoisonError::into_inner);
        if first.is_empty() {
            *first = format!("{what}: {error}");
        }
        error.raw_os_error().unwrap_or(libc::EIO)
    }

    pub fn count(&self) -> usize {
        self.shown().images.len()
    }

    fn image(&self, image: u64) -> Result<Arc<Shadow>, i32> {
        self.shown().images.get(&(image - 1)).cloned().ok_or(libc::EIO)
    }
}

fn name(number: u64) -> String {
    format!("state-{number}.img")
}

impl Shadow {
    fn map(&self) -> MutexGuard<'_, SectorMap> {
        self.map.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Images for Presenter {
    fn names(&self) -> Vec<(u64, String)> {
        self.shown()
            .images
            .keys()
            .map(|number| (number + 1, name(*number)))
            .collect()
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn read(&self, image: u64, offset: u64, into: &mut [u8]) -> Result<(), i32> {
        let shadow = self.image(image)?;
        let mut runs = Vec::new();
        let (sector, sectors) = sectors_of(offset, into.len() as u64);
        shadow
            .map()
            .runs(sector, sectors, |first, many, source| runs.push((first, many, source)));
        read_runs(&runs, &self.data, Some(&shadow.overlay), offset, into)
            .map_err(|error| self.failed("reading a state", &error))
    }

    fn write(&self, image: u64, offset: u64, data: &[u8]) -> Result<(), i32> {
        let shadow = self.image(image)?;
        let written = shadow.overlay.write_all_at(data, offset);
        written.map_err(|error| self.failed("keeping what is written to a state", &error))?;
        shadow
            .map()
            .set_overlay(offset / SECTOR_BYTES, data.len() as u64 / SECTOR_BYTES);
        Ok(())
    }

    fn zero(&self, image: u64, offset: u64, bytes: u64) -> Result<(), i32> {
        self.image(image)?
            .map()
            .set_zeros(offset / SECTOR_BYTES, bytes / SECTOR_BYTES);
        Ok(())
    }

    fn flush(&self, image: u64) -> Result<(), i32> {
        self.image(image).map(|_| ())
    }
}
