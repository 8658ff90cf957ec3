//! The FUSE file system: one folder with images in it.
//!
//! Files are opened for direct I/O, so that the kernel keeps no pages of them and each request of the loop device
//! arrives as it is.

use std::ffi::OsStr;
use std::io;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, InitFlags, KernelConfig,
    LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs,
    ReplyWrite, Request, WriteFlags,
};

use crate::event::SECTOR_BYTES;
use crate::images::Images;

const ROOT: u64 = 1;
/// Largest request; the kernel's own limit unless an administrator raised it.
const REQUEST_BYTES_MAX: u32 = 1 << 20;
const BACKGROUND_MAX: u16 = 64;
const TIME_TO_LIVE: Duration = Duration::from_secs(1);

pub struct ImageFs<I> {
    images: Arc<I>,
}

impl<I: Images> ImageFs<I> {
    pub fn new(images: Arc<I>) -> Self {
        Self { images }
    }

    fn attributes(&self, number: u64) -> Option<FileAttr> {
        let folder = number == ROOT;
        if !folder && !self.images.names().iter().any(|(image, _)| *image == number) {
            return None;
        }
        let size = if folder { 0 } else { self.images.bytes() };
        Some(FileAttr {
            ino: INodeNo(number),
            size,
            blocks: size / SECTOR_BYTES,
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind: if folder {
                FileType::Directory
            } else {
                FileType::RegularFile
            },
            perm: if folder { 0o700 } else { 0o600 },
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        })
    }

    fn fits(&self, offset: u64, bytes: u64) -> Result<(), i32> {
        let end = offset.checked_add(bytes).ok_or(libc::EINVAL)?;
        if end > self.images.bytes() {
            return Err(libc::ENOSPC);
        }
        if offset % SECTOR_BYTES != 0 || bytes % SECTOR_BYTES != 0 {
            return Err(libc::EINVAL);
        }
        Ok(())
    }
}

fn answer(result: Result<(), i32>, reply: ReplyEmpty) {
    match result {
        Ok(()) => reply.ok(),
        Err(number) => reply.error(Errno::from_i32(number)),
    }
}

impl<I: Images> Filesystem for ImageFs<I> {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // What an older kernel lacks only costs speed.
        let _ = config.add_capabilities(InitFlags::FUSE_ASYNC_DIO);
        let _ = config.set_max_write(REQUEST_BYTES_MAX);
        let _ = config.set_max_background(BACKGROUND_MAX);
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let names = self.images.names();
        let found = names
            .iter()
            .find(|(_, image)| parent.0 == ROOT && OsStr::new(image) == name);
        match found.and_then(|(number, _)| self.attributes(*number)) {
            Some(attributes) => reply.entry(&TIME_TO_LIVE, &attributes, Generation(0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.attributes(ino.0) {
            Some(attributes) => reply.attr(&TIME_TO_LIVE, &attributes),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn open(&self, _: &Request, ino: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        match self.attributes(ino.0) {
            Some(_) => reply.opened(
                FileHandle(0),
                FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES | FopenFlags::FOPEN_NOFLUSH,
            ),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn read(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let left = self.images.bytes().saturating_sub(offset);
        let mut bytes = vec![0; u64::from(size).min(left) as usize];
        match self.images.read(ino.0, offset, &mut bytes) {
            Ok(()) => reply.data(&bytes),
            Err(number) => reply.error(Errno::from_i32(number)),
        }
    }

    fn write(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let fits = self.fits(offset, data.len() as u64);
        match fits.and_then(|()| self.images.write(ino.0, offset, data)) {
            Ok(()) => reply.written(data.len() as u32),
            Err(number) => reply.error(Errno::from_i32(number)),
        }
    }

    /// Closing a file is no barrier.
    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn fsync(&self, _: &Request, ino: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        answer(self.images.flush(ino.0), reply);
    }

    fn fallocate(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        const ZEROS: i32 = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_ZERO_RANGE;
        let result = if mode & !(ZEROS | libc::FALLOC_FL_KEEP_SIZE) != 0 {
            Err(libc::EOPNOTSUPP)
        } else {
            self.fits(offset, length).and_then(|()| match mode & ZEROS {
                0 => Ok(()),
                _ => self.images.zero(ino.0, offset, length),
            })
        };
        answer(result, reply);
    }

    fn readdir(&self, _: &Request, _: INodeNo, _: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let dots = [".", ".."].map(|name| (ROOT, FileType::Directory, name.to_owned()));
        let images = self
            .images
            .names()
            .into_iter()
            .map(|(number, name)| (number, FileType::RegularFile, name));
        for (place, (number, kind, name)) in dots.into_iter().chain(images).enumerate().skip(offset as usize) {
            if reply.add(INodeNo(number), place as u64 + 1, kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        reply.statfs(0, 0, 0, 0, 0, 4096, 255, 0);
    }
}
