//! The recorder of a folder: does each change in the folder behind it and writes it down, one after another.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::fault::Fault;
use crate::folder::op::{BaseEntry, BaseTree, Change, Node, NodeKind, Op, ROOT, Traits};
use crate::stamp::Stamp;
use crate::store::{Clock, Status};

pub struct Recorder {
    store: PathBuf,
    inner: Mutex<Inner>,
}

pub struct Inner {
    ops: File,
    data: File,
    data_next: u64,
    data_bytes_max: u64,
    stamp: Stamp,
    clock: Clock,
    seq: u64,
    flushes: u64,
    flush_seq: u64,
    base_seq: u64,
    cut: bool,
    fault: Fault,
    error: String,
    /// Numbers of what lies behind: by device and inode there.
    numbers: HashMap<(u64, u64), Node>,
    last: Node,
    /// What the kernel knows of, held open so that its inode is not given to another.
    known: HashMap<Node, Known>,
}

pub struct Known {
    pub handle: Arc<File>,
    pub lookups: u64,
}

impl Recorder {
    /// Records what happens to `behind` from now on; what is there is the start.
    pub fn create(store: &Path, behind: &Path, data_bytes_max: u64, clock: Clock) -> io::Result<Self> {
        let new = |name: &str| {
            OpenOptions::new()
                .read(true)
                .append(name == "ops")
                .write(true)
                .create_new(true)
                .open(store.join(name))
        };
        let root = Arc::new(open_path(behind)?);
        let mut inner = Inner {
            ops: new("ops")?,
            data: new("data")?,
            data_next: 0,
            data_bytes_max,
            stamp: Stamp::create(&store.join("stamp"))?,
            clock,
            seq: 0,
            flushes: 0,
            flush_seq: 0,
            base_seq: 0,
            cut: false,
            fault: Fault::default(),
            error: String::new(),
            numbers: HashMap::new(),
            last: ROOT,
            known: HashMap::new(),
        };
        inner.numbers.insert(key(&root.metadata()?), ROOT);
        inner.known.insert(
            ROOT,
            Known {
                handle: root,
                lookups: 1,
            },
        );
        let recorder = Self {
            store: store.to_owned(),
            inner: Mutex::new(inner),
        };
        recorder.base().map_err(io::Error::from_raw_os_error)?;
        Ok(recorder)
    }

    pub fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn status(&self) -> Status {
        let inner = self.lock();
        Status {
            events: inner.seq,
            flushes: inner.flushes,
            flush_seq: inner.flush_seq,
            base_seq: inner.base_seq,
            log_bytes: inner.data_next,
            log_bytes_max: inner.data_bytes_max,
            cut: inner.cut,
            faults: inner.fault.struck,
            error: inner.error.clone(),
        }
    }

    pub fn cut(&self) {
        self.lock().cut = true;
    }

    /// `file` is relative to the folder and must have been there when the recording began, or looked up since.
    pub fn set_fault(&self, fault: Fault, file: Option<&str>) -> Result<(), String> {
        let mut inner = self.lock();
        let only = file
            .map(|file| inner.path(ROOT).and_then(|root| inner.number_at(&root.join(file))))
            .transpose()
            .map_err(|error| format!("{}: {}", file.unwrap_or_default(), io::Error::from_raw_os_error(error)))?;
        inner.fault.merge(Fault { only, ..fault });
        Ok(())
    }

    /// Copies the tree as it is; it is the start of what is tested. Everything waits for it.
    pub fn base(&self) -> Result<u64, i32> {
        let mut inner = self.lock();
        let seq = inner.record(Change::Base)?;
        let folder = self.store.join("base");
        let mut copy = || -> io::Result<()> {
            if folder.exists() {
                fs::remove_dir_all(&folder)?;
            }
            fs::create_dir(&folder)?;
            let mut tree = BaseTree {
                seq,
                entries: Vec::new(),
            };
            let root = inner.path(ROOT).map_err(io::Error::from_raw_os_error)?;
            inner.copy_below(ROOT, &root, &folder, &mut tree)?;
            let text = serde_json::to_vec(&tree)?;
            fs::write(self.store.join("base.json"), text)
        };
        copy().map_err(|error| inner.refuse("base", &error))?;
        inner.base_seq = seq;
        inner.flush_seq = seq;
        inner.stamp.set_flush(seq);
        Ok(seq)
    }
}

impl Inner {
    pub fn refuse(&mut self, what: &str, error: &io::Error) -> i32 {
        if self.error.is_empty() {
            self.error = format!("{what}: {error}");
        }
        error.raw_os_error().unwrap_or(libc::EIO)
    }

    pub fn check_power(&self) -> Result<(), i32> {
        if self.cut { Err(libc::EIO) } else { Ok(()) }
    }

    pub fn record(&mut self, change: Change) -> Result<u64, i32> {
        self.check_power()?;
        let seq = self.seq + 1;
        let op = Op {
            seq,
            time_ns: (self.clock)(),
            change,
        };
        let mut line = serde_json::to_vec(&op).map_err(|_| libc::EIO)?;
        line.push(b'\n');
        self.ops.write_all(&line).map_err(|error| self.refuse("ops", &error))?;
        self.seq = seq;
        self.stamp.set_event(seq);
        Ok(seq)
    }

    /// Data into the log; gives where it begins, None when it is lost and nobody is to hear of it.
    pub fn append(&mut self, data: &[u8]) -> Result<Option<u64>, i32> {
        self.check_power()?;
        let place = self.data_next;
        let bytes = data.len() as u64;
        if !self.fault.takes(bytes) {
            return self.fault.answer(libc::ENOSPC).map(|()| None);
        }
        if place + bytes > self.data_bytes_max {
            let full = io::Error::from_raw_os_error(libc::ENOSPC);
            return Err(self.refuse("the limit of the log is reached", &full));
        }
        self.data
            .write_all_at(data, place)
            .map_err(|error| self.refuse("data", &error))?;
        self.data_next += bytes;
        Ok(Some(place))
    }

    /// fsync of a file or folder.
    pub fn sync(&mut self, node: Node) -> Result<(), i32> {
        self.check_power()?;
        if self.fault.sync_fails(node) {
            self.record(Change::SyncFailed { node })?;
            return self.fault.answer(libc::EIO);
        }
        let seq = self.record(Change::Sync { node })?;
        self.flushes += 1;
        self.flush_seq = seq;
        self.stamp.set_flush(seq);
        Ok(())
    }

    /// The path by which we reach what a number stands for, whatever its name is now.
    pub fn path(&self, node: Node) -> Result<PathBuf, i32> {
        use std::os::fd::AsRawFd;
        let known = self.known.get(&node).ok_or(libc::ESTALE)?;
        Ok(PathBuf::from(format!("/proc/self/fd/{}", known.handle.as_raw_fd())))
    }

    pub fn handle(&self, node: Node) -> Result<Arc<File>, i32> {
        self.known
            .get(&node)
            .map(|known| known.handle.clone())
            .ok_or(libc::ESTALE)
    }

    /// The number of what lies at a path; a new one if it has none or is just made.
    pub fn number(&mut self, path: &Path, made: bool) -> io::Result<Node> {
        let handle = open_path(path)?;
        let node = self.number_of(&handle.metadata()?, made);
        self.known
            .entry(node)
            .or_insert_with(|| Known {
                handle: Arc::new(handle),
                lookups: 0,
            })
            .lookups += 1;
        Ok(node)
    }

    fn number_of(&mut self, found: &fs::Metadata, made: bool) -> Node {
        if let Some(node) = self.numbers.get(&key(found)).filter(|_| !made) {
            return *node;
        }
        self.last += 1;
        self.numbers.insert(key(found), self.last);
        self.last
    }

    /// The number of a path that the kernel has looked up before.
    pub fn number_at(&self, path: &Path) -> Result<Node, i32> {
        let found = fs::symlink_metadata(path).map_err(|error| error.raw_os_error().unwrap_or(libc::EIO))?;
        self.numbers.get(&key(&found)).copied().ok_or(libc::ESTALE)
    }

    pub fn forget(&mut self, node: Node, lookups: u64) {
        let Some(known) = self.known.get_mut(&node).filter(|_| node != ROOT) else {
            return;
        };
        known.lookups = known.lookups.saturating_sub(lookups);
        if known.lookups == 0 {
            // Once nothing names it and nobody holds it, its inode may be given to another.
            if let Ok(found) = known.handle.metadata() {
                if found.nlink() == 0 && self.numbers.get(&key(&found)) == Some(&node) {
                    self.numbers.remove(&key(&found));
                }
            }
            self.known.remove(&node);
        }
    }

    fn copy_below(&mut self, parent: Node, path: &Path, folder: &Path, tree: &mut BaseTree) -> io::Result<()> {
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            let (from, found) = (entry.path(), entry.metadata()?);
            let name = entry
                .file_name()
                .into_string()
                .map_err(|_| io::Error::other("a name is not UTF-8"))?;
            let Some(traits) = traits_of(&from, &found)? else {
                continue;
            };
            let node = self.number_of(&found, false);
            if traits.kind == NodeKind::File && !folder.join(node.to_string()).exists() {
                fs::copy(&from, folder.join(node.to_string()))?;
            }
            let is_folder = traits.kind == NodeKind::Folder;
            tree.entries.push(BaseEntry {
                parent,
                name,
                node,
                traits,
            });
            if is_folder {
                self.copy_below(node, &from, folder, tree)?;
            }
        }
        Ok(())
    }
}

/// Opens what a path names, not to read it but to hold it.
pub fn open_path(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_PATH | libc::O_NOFOLLOW)
        .open(path)
}

pub fn key(found: &fs::Metadata) -> (u64, u64) {
    (found.dev(), found.ino())
}

/// None for sockets and other things that no data is kept in.
pub fn traits_of(path: &Path, found: &fs::Metadata) -> io::Result<Option<Traits>> {
    let kind = match found.file_type() {
        kind if kind.is_file() => NodeKind::File,
        kind if kind.is_dir() => NodeKind::Folder,
        kind if kind.is_symlink() => NodeKind::Link,
        _ => return Ok(None),
    };
    let target = match kind {
        NodeKind::Link => fs::read_link(path)?.to_string_lossy().into_owned(),
        _ => String::new(),
    };
    Ok(Some(Traits {
        kind,
        mode: found.mode(),
        uid: found.uid(),
        gid: found.gid(),
        target,
    }))
}
