//! The FUSE file system over a folder: what the kernel asks, and the answers to it.

use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, symlink};
use std::path::Path;
use std::time::{Duration, SystemTime};

use fuser::{
    BsdFileFlags, Errno, FileAttr, FileHandle, Filesystem, FopenFlags, Generation, INodeNo, KernelConfig, LockOwner,
    OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen,
    ReplyStatfs, ReplyWrite, Request, TimeOrNow, WriteFlags,
};

use crate::folder::actions::{FolderFs, attributes, child, link_handle, locked, number, read_link, text};
use crate::folder::op::Change;

const TIME_TO_LIVE: Duration = Duration::from_secs(1);
const REQUEST_BYTES_MAX: u32 = 1 << 20;

fn errno(number: i32) -> Errno {
    Errno::from_i32(number)
}

fn answer(result: Result<(), i32>, reply: ReplyEmpty) {
    match result {
        Ok(()) => reply.ok(),
        Err(number) => reply.error(errno(number)),
    }
}

fn answer_entry(result: Result<FileAttr, i32>, reply: ReplyEntry) {
    match result {
        Ok(attributes) => reply.entry(&TIME_TO_LIVE, &attributes, Generation(0)),
        Err(number) => reply.error(errno(number)),
    }
}

impl Filesystem for FolderFs {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        let _ = config.set_max_write(REQUEST_BYTES_MAX);
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let mut inner = self.recorder.lock();
        let result = child(&inner, parent, name).and_then(|path| {
            let found = fs::symlink_metadata(&path).map_err(|error| number(&error))?;
            let node = inner.number(&path, false).map_err(|error| number(&error))?;
            Ok(attributes(node, &found))
        });
        answer_entry(result, reply);
    }

    fn forget(&self, _: &Request, ino: INodeNo, lookups: u64) {
        self.recorder.lock().forget(ino.0, lookups);
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        let handle = self.recorder.lock().handle(ino.0);
        match handle.and_then(|handle| handle.metadata().map_err(|error| number(&error))) {
            Ok(found) => reply.attr(&TIME_TO_LIVE, &attributes(ino.0, &found)),
            Err(number) => reply.error(errno(number)),
        }
    }

    fn setattr(
        &self,
        _: &Request,
        ino: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        _: Option<TimeOrNow>,
        _: Option<TimeOrNow>,
        _: Option<SystemTime>,
        _: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        match self.change_attributes(ino, mode, (uid, gid), size) {
            Ok(attributes) => reply.attr(&TIME_TO_LIVE, &attributes),
            Err(number) => reply.error(errno(number)),
        }
    }

    fn readlink(&self, _: &Request, ino: INodeNo, reply: ReplyData) {
        use std::os::unix::ffi::OsStrExt;
        // readlink of the descriptor's path would tell where it lies, not what it holds.
        let handle = self.recorder.lock().handle(ino.0);
        match handle.and_then(|handle| read_link(&handle)) {
            Ok(target) => reply.data(target.as_os_str().as_bytes()),
            Err(number) => reply.error(errno(number)),
        }
    }

    fn mkdir(&self, req: &Request, parent: INodeNo, name: &OsStr, mode: u32, umask: u32, reply: ReplyEntry) {
        let mut inner = self.recorder.lock();
        let result = inner
            .check_power()
            .and_then(|()| text(name))
            .and_then(|_| child(&inner, parent, name))
            .and_then(|path| {
                let mut builder = fs::DirBuilder::new();
                builder
                    .mode(mode & !umask & 0o7777)
                    .create(&path)
                    .map_err(|error| number(&error))?;
                self.made(&mut inner, req, parent, name, &path)
            });
        answer_entry(result, reply);
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        answer(self.remove(parent, name, |path| fs::remove_file(path)), reply);
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        answer(self.remove(parent, name, |path| fs::remove_dir(path)), reply);
    }

    fn symlink(&self, req: &Request, parent: INodeNo, name: &OsStr, target: &Path, reply: ReplyEntry) {
        let mut inner = self.recorder.lock();
        let result = inner
            .check_power()
            .and_then(|()| text(name))
            .and_then(|_| child(&inner, parent, name))
            .and_then(|path| {
                symlink(target, &path).map_err(|error| number(&error))?;
                self.made(&mut inner, req, parent, name, &path)
            });
        answer_entry(result, reply);
    }

    fn rename(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        newparent: INodeNo,
        newname: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        answer(self.move_name((parent, name), (newparent, newname), flags), reply);
    }

    fn link(&self, _: &Request, ino: INodeNo, newparent: INodeNo, newname: &OsStr, reply: ReplyEntry) {
        let mut inner = self.recorder.lock();
        let result = inner
            .check_power()
            .and_then(|()| child(&inner, newparent, newname))
            .and_then(|path| {
                let name = text(newname)?;
                link_handle(&inner.path(ino.0)?, &path)?;
                inner.number(&path, false).map_err(|error| number(&error))?;
                inner.record(Change::Name {
                    parent: newparent.0,
                    name,
                    node: ino.0,
                })?;
                let found = fs::symlink_metadata(&path).map_err(|error| number(&error))?;
                Ok(attributes(ino.0, &found))
            });
        answer_entry(result, reply);
    }

    fn open(&self, _: &Request, ino: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        let write = flags.0 & libc::O_ACCMODE != libc::O_RDONLY;
        let path = self.recorder.lock().path(ino.0);
        // Always readable, because the kernel reads pages of which only a part is written.
        let opened = path.and_then(|path| {
            OpenOptions::new()
                .read(true)
                .write(write)
                .open(path)
                .map_err(|error| number(&error))
        });
        match opened {
            Ok(file) => reply.opened(self.keep(file), FopenFlags::empty()),
            Err(number) => reply.error(errno(number)),
        }
    }

    fn create(&self, req: &Request, parent: INodeNo, name: &OsStr, mode: u32, umask: u32, _: i32, reply: ReplyCreate) {
        match self.create_file(req, parent, name, mode & !umask) {
            Ok((attributes, handle)) => {
                reply.created(&TIME_TO_LIVE, &attributes, Generation(0), handle, FopenFlags::empty());
            }
            Err(number) => reply.error(errno(number)),
        }
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        fh: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let mut bytes = vec![0; size as usize];
        let mut filled = 0;
        let result = self.file(fh).and_then(|file| {
            while filled < bytes.len() {
                match file.read_at(&mut bytes[filled..], offset + filled as u64) {
                    Ok(0) => break,
                    Ok(many) => filled += many,
                    Err(error) => return Err(number(&error)),
                }
            }
            Ok(())
        });
        match result {
            Ok(()) => reply.data(&bytes[..filled]),
            Err(number) => reply.error(errno(number)),
        }
    }

    fn write(
        &self,
        _: &Request,
        ino: INodeNo,
        fh: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        flags: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        match self.write_file(ino, fh, offset, data, flags) {
            Ok(()) => reply.written(data.len() as u32),
            Err(number) => reply.error(errno(number)),
        }
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn release(
        &self,
        _: &Request,
        _: INodeNo,
        fh: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        locked(&self.files).remove(&fh.0);
        reply.ok();
    }

    fn fsync(&self, _: &Request, ino: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        answer(self.recorder.lock().sync(ino.0), reply);
    }

    fn fsyncdir(&self, _: &Request, ino: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        answer(self.recorder.lock().sync(ino.0), reply);
    }

    fn opendir(&self, _: &Request, ino: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        match self.list(ino) {
            Ok(handle) => reply.opened(handle, FopenFlags::empty()),
            Err(number) => reply.error(errno(number)),
        }
    }

    fn readdir(&self, _: &Request, _: INodeNo, fh: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let Some(names) = locked(&self.listings).get(&fh.0).cloned() else {
            return reply.error(Errno::EBADF);
        };
        for (place, (inode, kind, name)) in names.iter().enumerate().skip(offset as usize) {
            if reply.add(INodeNo(*inode), place as u64 + 1, *kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn releasedir(&self, _: &Request, _: INodeNo, fh: FileHandle, _: OpenFlags, reply: ReplyEmpty) {
        locked(&self.listings).remove(&fh.0);
        reply.ok();
    }

    fn fallocate(
        &self,
        _: &Request,
        ino: INodeNo,
        fh: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        answer(self.allocate(ino, fh, offset, length, mode), reply);
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        let status = self.recorder.status();
        let blocks = |bytes: u64| bytes / 4096;
        let free = blocks(status.log_bytes_max.saturating_sub(status.log_bytes));
        reply.statfs(
            blocks(status.log_bytes_max),
            free,
            free,
            1 << 20,
            1 << 20,
            4096,
            255,
            4096,
        );
    }
}
