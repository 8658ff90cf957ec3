//! Load shapes, one file each: when is event *n* meant to start? A closed loop answers from the previous event of the
//! same connection; open shapes answer from the clock alone, whatever the server does.

mod closed;
mod constant;
mod poisson;
mod queue;

pub use closed::Closed;
pub use constant::Constant;
pub use poisson::Poisson;
pub use queue::ArrivalQueue;

use crate::rng::Rng;

/// An open load shape: intended starts that never decrease, in nanoseconds after the start of the phase.
pub trait Arrivals {
    /// Intended start of the next event.
    fn next_ns(&mut self) -> u64;
}

/// Builds an open shape by its name in the plan; `None` for an unknown name. `rate_per_s` must be positive.
pub fn arrivals(name: &str, rate_per_s: f64, rng: Rng) -> Option<Box<dyn Arrivals + Send>> {
    match name {
        "constant" => Some(Box::new(Constant::new(rate_per_s))),
        "poisson" => Some(Box::new(Poisson::new(rate_per_s, rng))),
        _ => None,
    }
}

/// Names for the plan's `arrivals`.
pub const ARRIVALS: [&str; 2] = ["poisson", "constant"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn open_shapes_are_monotone_with_the_asked_mean(
            rate in 1.0f64..1e5, seed in any::<u64>(), shape in 0usize..2,
        ) {
            let mut shape = arrivals(ARRIVALS[shape], rate, Rng::new(seed, 0)).unwrap();
            let n = 20_000;
            let mut last = 0;
            for _ in 0..n {
                let next = shape.next_ns();
                prop_assert!(next >= last);
                last = next;
            }
            let mean_s = last as f64 / 1e9 / n as f64;
            // The standard error of a mean of 20,000 exponentials is 0.7 %; five of them are allowed.
            prop_assert!((mean_s * rate - 1.0).abs() < 0.036, "mean {mean_s}, rate {rate}");
        }

        #[test]
        fn a_seed_repeats(rate in 1.0f64..1e5, seed in any::<u64>()) {
            let draw = || -> Vec<u64> {
                let mut shape = arrivals("poisson", rate, Rng::new(seed, 3)).unwrap();
                (0..50).map(|_| shape.next_ns()).collect()
            };
            prop_assert_eq!(draw(), draw());
        }
    }
}
