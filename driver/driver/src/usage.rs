//! CPU time of the calling thread: the null server's thread must not count as the driver's cost.

/// User and system time, microseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    pub user_us: u64,
    pub system_us: u64,
}

impl Usage {
    /// What this thread has used since it began.
    pub fn of_this_thread() -> Usage {
        // SAFETY: an all-zero rusage is valid and lives through the call, which cannot fail with these arguments.
        let usage = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage);
            usage
        };
        let us = |time: libc::timeval| (time.tv_sec * 1_000_000 + time.tv_usec) as u64;
        Usage {
            user_us: us(usage.ru_utime),
            system_us: us(usage.ru_stime),
        }
    }

    pub fn since(self, earlier: Usage) -> Usage {
        Usage {
            user_us: self.user_us.saturating_sub(earlier.user_us),
            system_us: self.system_us.saturating_sub(earlier.system_us),
        }
    }

    pub fn plus(self, other: Usage) -> Usage {
        Usage {
            user_us: self.user_us + other.user_us,
            system_us: self.system_us + other.system_us,
        }
    }
}
