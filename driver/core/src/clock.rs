//! The clock is an argument everywhere; only `main` makes a real one.

use std::cell::Cell;
use std::time::Instant;

/// A monotonic clock.
pub trait Clock {
    /// Nanoseconds since the clock's origin (the driver's start).
    fn now_ns(&self) -> u64;
}

/// The machine's monotonic clock (CLOCK_MONOTONIC, read through the vDSO).
#[derive(Clone, Copy, Debug)]
pub struct SystemClock {
    origin: Instant,
}

impl SystemClock {
    /// A clock that reads 0 at `origin`.
    pub fn new(origin: Instant) -> Self {
        SystemClock { origin }
    }
}

impl Clock for SystemClock {
    #[inline]
    fn now_ns(&self) -> u64 {
        self.origin.elapsed().as_nanos() as u64
    }
}

/// A clock that moves only when it is told to, for tests.
#[derive(Debug, Default)]
pub struct SimulatedClock {
    now_ns: Cell<u64>,
}

impl SimulatedClock {
    /// Moves the clock to `now_ns`; it never goes back.
    pub fn set_ns(&self, now_ns: u64) {
        self.now_ns.set(self.now_ns.get().max(now_ns));
    }
}

impl Clock for SimulatedClock {
    fn now_ns(&self) -> u64 {
        self.now_ns.get()
    }
}
