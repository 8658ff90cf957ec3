//! How the kernel schedules a worker thread.
//!
//! In a closed loop on the server's own host, a worker that preempts a server process at every answer makes both of them
//! switch more often and takes the CPU from the work that is measured. SCHED_BATCH (sched(7)) only takes that right
//! away: answers gather for one wake-up where CPUs are busy, and nothing changes where one is idle. An open loop must
//! wake up on time, so it keeps the normal policy.

/// Sets the calling thread's policy; a policy that the user has chosen (real-time, idle) stays.
pub fn prefer_throughput(yes: bool) {
    let policy = if yes { libc::SCHED_BATCH } else { libc::SCHED_OTHER };
    let parameter = libc::sched_param { sched_priority: 0 };
    // SAFETY: the parameter lives through the call. Both policies need no privilege; where a sandbox refuses the call,
    // the measurement is as good, only dearer.
    unsafe {
        let now = libc::sched_getscheduler(0);
        if now == libc::SCHED_OTHER || now == libc::SCHED_BATCH {
            libc::sched_setscheduler(0, policy, &raw const parameter);
        }
    }
}
