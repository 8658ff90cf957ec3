//! Interrupts threads that block in a socket. A worker with one connection waits in `recv` itself, because a timeout or
//! an epoll would cost a timer or a system call for each statement; a signal a few times a second costs nothing. It makes
//! the call return EINTR, and the worker looks at its timers, its intervals and the wish to stop.

use std::io;
use std::sync::{Mutex, PoisonError};

/// A signal that nothing else uses here and that is harmless where no handler is set.
const SIGNAL: libc::c_int = libc::SIGURG;

/// Threads that want to be interrupted.
#[derive(Default)]
pub struct Ticker {
    threads: Mutex<Vec<libc::pid_t>>,
}

extern "C" fn nothing(_signal: libc::c_int) {}

impl Ticker {
    /// Installs the handler, which does nothing: what matters is that the call returns.
    pub fn new() -> io::Result<Ticker> {
        // SAFETY: an all-zero sigaction is valid (no flags: calls are not restarted); the handler touches nothing.
        let result = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = nothing as extern "C" fn(libc::c_int) as usize;
            libc::sigaction(SIGNAL, &raw const action, std::ptr::null_mut())
        };
        if result == 0 {
            Ok(Ticker::default())
        } else {
            Err(io::Error::last_os_error())
        }
    }

    /// Adds the calling thread.
    pub fn add_this_thread(&self) {
        // SAFETY: no pointers.
        let thread = unsafe { libc::gettid() };
        self.threads.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
    }

    /// Interrupts all of them. A thread that has ended is not found, which does not matter.
    pub fn tick(&self) {
        for thread in self.threads.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            // SAFETY: no pointers; the signal goes to a thread of this process or to nobody.
            unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), *thread, SIGNAL) };
        }
    }
}
