//! What the recorded folder does when it is asked: the change in the folder behind it, and its line in the record.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use fuser::{FileAttr, FileHandle, FileType, INodeNo, OpenFlags, RenameFlags, Request};

use crate::folder::op::{Change, Node};
use crate::folder::rebuild::zero;
use crate::folder::record::{Inner, Recorder, traits_of};

/// A listing: inode, kind, name.
pub type Listing = Arc<Vec<(u64, FileType, std::ffi::OsString)>>;

pub struct FolderFs {
    pub recorder: Arc<Recorder>,
    pub files: Mutex<HashMap<u64, Arc<File>>>,
    pub listings: Mutex<HashMap<u64, Listing>>,
    last_handle: AtomicU64,
}

pub fn number(error: &io::Error) -> i32 {
    error.raw_os_error().unwrap_or(libc::EIO)
}

pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub fn text(name: &OsStr) -> Result<String, i32> {
    name.to_str().map(str::to_owned).ok_or(libc::EILSEQ)
}

pub fn child(inner: &Inner, parent: INodeNo, name: &OsStr) -> Result<PathBuf, i32> {
    Ok(inner.path(parent.0)?.join(name))
}

pub fn attributes(node: Node, found: &fs::Metadata) -> FileAttr {
    let time = |seconds: i64, nanoseconds: i64| {
        UNIX_EPOCH + Duration::new(seconds.max(0) as u64, nanoseconds.clamp(0, 999_999_999) as u32)
    };
    FileAttr {
        ino: INodeNo(node),
        size: found.size(),
        blocks: found.blocks(),
        atime: time(found.atime(), found.atime_nsec()),
        mtime: time(found.mtime(), found.mtime_nsec()),
        ctime: time(found.ctime(), found.ctime_nsec()),
        crtime: UNIX_EPOCH,
        kind: FileType::from_std(found.file_type()).unwrap_or(FileType::RegularFile),
        perm: (found.mode() & 0o7777) as u16,
        nlink: found.nlink() as u32,
        uid: found.uid(),
        gid: found.gid(),
        rdev: found.rdev() as u32,
        blksize: 4096,
        flags: 0,
    }
}

impl FolderFs {
    pub fn new(recorder: Arc<Recorder>) -> Self {
        Self {
            recorder,
            files: Mutex::default(),
            listings: Mutex::default(),
            last_handle: AtomicU64::new(0),
        }
    }

    pub fn keep(&self, file: File) -> FileHandle {
        let number = self.last_handle.fetch_add(1, Ordering::Relaxed) + 1;
        locked(&self.files).insert(number, Arc::new(file));
        FileHandle(number)
    }

    pub fn file(&self, handle: FileHandle) -> Result<Arc<File>, i32> {
        locked(&self.files).get(&handle.0).cloned().ok_or(libc::EBADF)
    }

    /// Something new at a path: gives it to who asked for it, numbers it, and records it with its name.
    pub fn made(
        &self,
        inner: &mut Inner,
        req: &Request,
        parent: INodeNo,
        name: &OsStr,
        at: &Path,
    ) -> Result<FileAttr, i32> {
        let found = fs::symlink_metadata(at).map_err(|error| number(&error))?;
        if !found.file_type().is_symlink() && (found.uid(), found.gid()) != (req.uid(), req.gid()) {
            chown(at, Some(req.uid()), Some(req.gid())).map_err(|error| number(&error))?;
        }
        let node = inner.number(at, true).map_err(|error| number(&error))?;
        let found = fs::symlink_metadata(at).map_err(|error| number(&error))?;
        if let Some(traits) = traits_of(at, &found).map_err(|error| number(&error))? {
            inner.record(Change::New { node, traits })?;
            inner.record(Change::Name {
                parent: parent.0,
                name: text(name)?,
                node,
            })?;
        }
        Ok(attributes(node, &found))
    }

    pub fn remove(&self, parent: INodeNo, name: &OsStr, how: fn(&Path) -> io::Result<()>) -> Result<(), i32> {
        let mut inner = self.recorder.lock();
        inner.check_power()?;
        let path = child(&inner, parent, name)?;
        let node = inner.number_at(&path)?;
        how(&path).map_err(|error| number(&error))?;
        inner.record(Change::Unname {
            parent: parent.0,
            name: text(name)?,
            node,
        })?;
        Ok(())
    }

    pub fn create_file(
        &self,
        req: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
    ) -> Result<(FileAttr, FileHandle), i32> {
        let mut inner = self.recorder.lock();
        inner.check_power()?;
        text(name)?;
        let path = child(&inner, parent, name)?;
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(mode & 0o7777)
            .open(&path)
            .map_err(|error| number(&error))?;
        let attributes = self.made(&mut inner, req, parent, name, &path)?;
        Ok((attributes, self.keep(file)))
    }

    pub fn move_name(&self, from: (INodeNo, &OsStr), to: (INodeNo, &OsStr), flags: RenameFlags) -> Result<(), i32> {
        let mut inner = self.recorder.lock();
        inner.check_power()?;
        if !(flags & !RenameFlags::RENAME_NOREPLACE).is_empty() {
            return Err(libc::EINVAL);
        }
        let (old, new) = (child(&inner, from.0, from.1)?, child(&inner, to.0, to.1)?);
        let node = inner.number_at(&old)?;
        if flags.contains(RenameFlags::RENAME_NOREPLACE) && fs::symlink_metadata(&new).is_ok() {
            return Err(libc::EEXIST);
        }
        // Two names of one file: nothing happens (rename(2)).
        if inner.number_at(&new) == Ok(node) {
            return Ok(());
        }
        let change = Change::Rename {
            parent: from.0.0,
            name: text(from.1)?,
            new_parent: to.0.0,
            new_name: text(to.1)?,
            node,
        };
        fs::rename(&old, &new).map_err(|error| number(&error))?;
        inner.record(change)?;
        Ok(())
    }

    pub fn write_file(
        &self,
        ino: INodeNo,
        handle: FileHandle,
        offset: u64,
        data: &[u8],
        flags: OpenFlags,
    ) -> Result<(), i32> {
        let file = self.file(handle)?;
        let mut inner = self.recorder.lock();
        let place = inner.append(data)?;
        file.write_all_at(data, offset).map_err(|error| number(&error))?;
        if let Some(place) = place {
            inner.record(Change::Write {
                node: ino.0,
                offset,
                bytes: data.len() as u64,
                data: place,
            })?;
        }
        if flags.0 & libc::O_DSYNC != 0 {
            inner.sync(ino.0)?;
        }
        Ok(())
    }

    pub fn allocate(&self, ino: INodeNo, handle: FileHandle, offset: u64, bytes: u64, mode: i32) -> Result<(), i32> {
        let file = self.file(handle)?;
        let mut inner = self.recorder.lock();
        inner.check_power()?;
        let zeros = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_ZERO_RANGE;
        if mode & !(zeros | libc::FALLOC_FL_KEEP_SIZE) != 0 {
            return Err(libc::EOPNOTSUPP);
        }
        let size = file.metadata().map_err(|error| number(&error))?.len();
        if mode & zeros != 0 {
            zero(&file, offset, bytes).map_err(|error| number(&error))?;
            inner.record(Change::Zero {
                node: ino.0,
                offset,
                bytes,
            })?;
        }
        if mode & libc::FALLOC_FL_KEEP_SIZE == 0 && offset + bytes > size {
            file.set_len(offset + bytes).map_err(|error| number(&error))?;
            inner.record(Change::Truncate {
                node: ino.0,
                bytes: offset + bytes,
            })?;
        }
        Ok(())
    }

    pub fn change_attributes(
        &self,
        ino: INodeNo,
        mode: Option<u32>,
        owner: (Option<u32>, Option<u32>),
        size: Option<u64>,
    ) -> Result<FileAttr, i32> {
        let mut inner = self.recorder.lock();
        let path = inner.path(ino.0)?;
        if mode.is_some() || owner != (None, None) || size.is_some() {
            inner.check_power()?;
        }
        if let Some(bytes) = size {
            let file = OpenOptions::new()
                .write(true)
                .open(&path)
                .map_err(|error| number(&error))?;
            file.set_len(bytes).map_err(|error| number(&error))?;
            inner.record(Change::Truncate { node: ino.0, bytes })?;
        }
        if let Some(mode) = mode {
            fs::set_permissions(&path, Permissions::from_mode(mode & 0o7777)).map_err(|error| number(&error))?;
        }
        if owner != (None, None) {
            chown(&path, owner.0, owner.1).map_err(|error| number(&error))?;
        }
        let found = inner.handle(ino.0)?.metadata().map_err(|error| number(&error))?;
        if mode.is_some() || owner != (None, None) {
            if let Some(traits) = traits_of(&path, &found).map_err(|error| number(&error))? {
                inner.record(Change::Attributes { node: ino.0, traits })?;
            }
        }
        Ok(attributes(ino.0, &found))
    }

    pub fn list(&self, ino: INodeNo) -> Result<FileHandle, i32> {
        let path = self.recorder.lock().path(ino.0)?;
        let mut names = vec![
            (1, FileType::Directory, ".".into()),
            (1, FileType::Directory, "..".into()),
        ];
        for entry in fs::read_dir(path).map_err(|error| number(&error))? {
            let entry = entry.map_err(|error| number(&error))?;
            let kind = entry
                .file_type()
                .ok()
                .and_then(FileType::from_std)
                .unwrap_or(FileType::RegularFile);
            use std::os::unix::fs::DirEntryExt;
            names.push((entry.ino(), kind, entry.file_name()));
        }
        let number = self.last_handle.fetch_add(1, Ordering::Relaxed) + 1;
        locked(&self.listings).insert(number, Arc::new(names));
        Ok(FileHandle(number))
    }
}

/// readlinkat(2) with an empty path reads the link that a descriptor holds.
pub fn read_link(handle: &File) -> Result<PathBuf, i32> {
    use std::os::fd::AsRawFd;
    use std::os::unix::ffi::OsStringExt;
    let mut buffer = vec![0_u8; libc::PATH_MAX as usize];
    // SAFETY: an empty string with its end, and a buffer of the length that is said.
    let many = unsafe {
        libc::readlinkat(
            handle.as_raw_fd(),
            c"".as_ptr(),
            buffer.as_mut_ptr().cast(),
            buffer.len(),
        )
    };
    if many < 0 {
        return Err(number(&io::Error::last_os_error()));
    }
    buffer.truncate(many as usize);
    Ok(PathBuf::from(std::ffi::OsString::from_vec(buffer)))
}

/// linkat(2) by way of the descriptor's path, which must be followed.
pub fn link_handle(from: &Path, to: &Path) -> Result<(), i32> {
    let c = |path: &Path| std::ffi::CString::new(path.as_os_str().as_encoded_bytes()).map_err(|_| libc::EINVAL);
    let (from, to) = (c(from)?, c(to)?);
    // SAFETY: both strings are ours.
    match unsafe {
        libc::linkat(
            libc::AT_FDCWD,
            from.as_ptr(),
            libc::AT_FDCWD,
            to.as_ptr(),
            libc::AT_SYMLINK_FOLLOW,
        )
    } {
        0 => Ok(()),
        _ => Err(number(&io::Error::last_os_error())),
    }
}
