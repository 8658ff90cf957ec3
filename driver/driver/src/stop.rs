//! The wish to end: raised by SIGINT or SIGTERM, by a failure, or by a reader that went away.

use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// Why the driver is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Reason {
    Signal = 1,
    Failure = 2,
    /// Nobody reads our events any more.
    Unheard = 3,
}

/// A flag that all threads see, and a descriptor that becomes readable with it.
pub struct Stop {
    reason: AtomicU8,
    event: OwnedFd,
}

impl Stop {
    pub fn new() -> io::Result<Stop> {
        // SAFETY: no pointers; the descriptor is checked before it is owned.
        let event = unsafe {
            let fd = libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK);
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            OwnedFd::from_raw_fd(fd)
        };
        Ok(Stop {
            reason: AtomicU8::new(0),
            event,
        })
    }

    /// Raises the flag; the first reason stays.
    pub fn raise(&self, reason: Reason) {
        if self
            .reason
            .compare_exchange(0, reason as u8, Ordering::SeqCst, Ordering::SeqCst)
            .is_ok()
        {
            let one = 1u64;
            // SAFETY: eight bytes are read from `one`. The counter cannot overflow: it is written once.
            unsafe { libc::write(self.event.as_raw_fd(), (&raw const one).cast(), 8) };
        }
    }

    #[inline]
    pub fn is_raised(&self) -> bool {
        self.reason.load(Ordering::Relaxed) != 0
    }

    pub fn reason(&self) -> Option<Reason> {
        match self.reason.load(Ordering::SeqCst) {
            1 => Some(Reason::Signal),
            2 => Some(Reason::Failure),
            3 => Some(Reason::Unheard),
            _ => None,
        }
    }

    pub fn descriptor(&self) -> RawFd {
        self.event.as_raw_fd()
    }
}

/// Makes SIGINT and SIGTERM raise `stop`. Call it before any other thread starts: they inherit the blocked signals.
pub fn on_signals(stop: Arc<Stop>) -> io::Result<()> {
    // SAFETY: the set is initialised by sigemptyset and lives through the calls.
    let set = unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGINT);
        libc::sigaddset(&raw mut set, libc::SIGTERM);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
        set
    };
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        loop {
            let mut signal = 0;
            // SAFETY: both pointers live through the call.
            if unsafe { libc::sigwait(&raw const set, &raw mut signal) } == 0 {
                stop.raise(Reason::Signal);
            }
        }
    })?;
    Ok(())
}
