//! Mounting, waiting for the end, unmounting.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use fuser::{Config, Filesystem, MountOption, Session, SessionACL};

/// Set when the process should end.
#[derive(Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    pub fn set(&self) {
        self.0.store(true, Ordering::Release);
    }

    fn is_set(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

const POLL: Duration = Duration::from_millis(20);
const THREADS: usize = 2;

/// Who may use what is mounted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Owner,
    /// Everybody, with the kernel checking permissions.
    All,
}

/// Serves a file system until `stop` is set, a signal asks for it, or it is unmounted from outside.
pub fn serve(
    filesystem: impl Filesystem,
    point: &Path,
    name: &str,
    access: Access,
    stop: &Stop,
    ready: impl FnOnce() -> io::Result<()>,
) -> io::Result<()> {
    block_signals()?;
    let mut config = Config::default();
    config.mount_options = vec![
        MountOption::FSName(name.to_owned()),
        MountOption::NoDev,
        MountOption::NoSuid,
    ];
    if access == Access::All {
        config.acl = SessionACL::All;
        config.mount_options.push(MountOption::DefaultPermissions);
    }
    config.n_threads = Some(THREADS);
    config.clone_fd = true;
    let session = Session::new(filesystem, point, &config)
        .map_err(|error| io::Error::new(error.kind(), format!("{} cannot be mounted: {error}", point.display())))?
        .spawn()?;
    ready()?;
    while !stop.is_set() && !signalled() && !session.guard.is_finished() {
        thread::sleep(POLL);
    }
    session.umount_and_join()
}

fn ending_signals() -> libc::sigset_t {
    // SAFETY: a plain structure that sigemptyset fills.
    let mut signals: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: `signals` is ours.
    unsafe {
        libc::sigemptyset(&mut signals);
        for number in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
            libc::sigaddset(&mut signals, number);
        }
    }
    signals
}

fn block_signals() -> io::Result<()> {
    // SAFETY: called before other threads are started, which inherit the mask.
    match unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &ending_signals(), std::ptr::null_mut()) } {
        0 => Ok(()),
        number => Err(io::Error::from_raw_os_error(number)),
    }
}

fn signalled() -> bool {
    let now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: both structures are ours; a signal that is waiting is taken.
    unsafe { libc::sigtimedwait(&ending_signals(), std::ptr::null_mut(), &now) > 0 }
}

/// From linux/prctl.h; the libc crate does not have it.
const PR_SET_IO_FLUSHER: i32 = 57;

/// Tells the kernel that we are what it writes to, so that it does not wait for us while it gives us memory
/// (prctl(2), PR_SET_IO_FLUSHER). Needs a privilege; without it only a machine short of memory is in danger.
pub fn declare_io_flusher() -> bool {
    // SAFETY: sets a flag of this thread; threads that it starts have it too.
    unsafe { libc::prctl(PR_SET_IO_FLUSHER, 1, 0, 0, 0) == 0 }
}

/// Raises the limit of open files to what may be had: every file that the kernel knows of is held open.
pub fn allow_many_files() {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: reads into and sets from a structure of ours; a refusal leaves the limit as it was.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) == 0 {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
        }
    }
}
