//! Open loop, constant: event n is intended at n / rate.

use super::Arrivals;

/// Evenly spaced arrivals.
#[derive(Clone, Debug)]
pub struct Constant {
    rate_per_s: f64,
    next: u64,
}

impl Constant {
    /// `rate_per_s` > 0.
    pub fn new(rate_per_s: f64) -> Self {
        Constant { rate_per_s, next: 0 }
    }
}

impl Arrivals for Constant {
    fn next_ns(&mut self) -> u64 {
        // From n each time: adding up rounded periods would drift.
        let at_ns = self.next as f64 / self.rate_per_s * 1e9;
        self.next += 1;
        at_ns as u64
    }
}
