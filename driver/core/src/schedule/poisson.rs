//! Open loop, Poisson: independent users. Gaps are exponential, so bursts happen as they do in real traffic. The sum of
//! several Poisson streams is one with the sum of the rates, which is how workers share a rate.

use super::Arrivals;
use crate::rng::Rng;

/// Arrivals of a Poisson process.
#[derive(Clone, Debug)]
pub struct Poisson {
    mean_ns: f64,
    at_ns: f64,
    rng: Rng,
}

impl Poisson {
    /// `rate_per_s` > 0.
    pub fn new(rate_per_s: f64, rng: Rng) -> Self {
        Poisson {
            mean_ns: 1e9 / rate_per_s,
            at_ns: 0.0,
            rng,
        }
    }
}

impl Arrivals for Poisson {
    fn next_ns(&mut self) -> u64 {
        self.at_ns += self.mean_ns * self.rng.exponential();
        self.at_ns as u64
    }
}
