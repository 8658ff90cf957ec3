//! The page that the load driver maps: number of the last completed flush at 0, of the last event at 8.

use std::fs::OpenOptions;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

pub const PAGE_BYTES: usize = 4096;

pub struct Stamp {
    page: NonNull<AtomicU64>,
}

// SAFETY: the page is only touched through atomics, and is unmapped only when the value is dropped.
unsafe impl Send for Stamp {}
// SAFETY: as above.
unsafe impl Sync for Stamp {}

impl Stamp {
    pub fn create(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(path)?;
        // Written, not only sized: a page without room on its disk would end us when it is touched.
        std::os::unix::fs::FileExt::write_all_at(&file, &[0; PAGE_BYTES], 0)?;
        // SAFETY: a fresh shared mapping of a file of this size.
        let page = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                PAGE_BYTES,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        if page == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        NonNull::new(page.cast())
            .map(|page| Self { page })
            .ok_or_else(|| io::Error::other("mmap gave nothing"))
    }

    fn word(&self, number: usize) -> &AtomicU64 {
        debug_assert!(number < PAGE_BYTES / 8);
        // SAFETY: within the page, aligned, and mapped as long as self lives.
        unsafe { self.page.add(number).as_ref() }
    }

    pub fn set_event(&self, seq: u64) {
        self.word(1).store(seq, Ordering::Release);
    }

    pub fn set_flush(&self, seq: u64) {
        self.word(0).store(seq, Ordering::Release);
    }
}

impl Drop for Stamp {
    fn drop(&mut self) {
        // SAFETY: mapped by create, and not used after.
        unsafe { libc::munmap(self.page.as_ptr().cast(), PAGE_BYTES) };
    }
}
