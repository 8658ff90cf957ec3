//! Key distributions as sysbench defines them (option `rand_type` and its parameters; sysbench 1.0 and 1.1 manuals and
//! `--help`). The Zipfian one follows W. Hörmann and G. Derflinger, "Rejection-inversion to generate variates from
//! monotone discrete distributions", ACM TOMACS 6.3 (1996), as sysbench does: key 1 is the most frequent.

use std::collections::BTreeMap;

use crate::rng::Rng;
use crate::workload::OptionSpec;

/// Options of a workload that draws keys, with sysbench's names and defaults.
pub const OPTIONS: [OptionSpec; 6] = [
    OptionSpec {
        name: "rand_type",
        default: "special",
        help: "distribution of keys: uniform, special, pareto or zipfian",
    },
    OptionSpec {
        name: "rand_spec_iter",
        default: "12",
        help: "special: uniform numbers summed for the outer keys",
    },
    OptionSpec {
        name: "rand_spec_pct",
        default: "1",
        help: "special: percentage of the keys that are hot",
    },
    OptionSpec {
        name: "rand_spec_res",
        default: "75",
        help: "special: percentage of the draws that hit hot keys",
    },
    OptionSpec {
        name: "rand_pareto_h",
        default: "0.2",
        help: "pareto: share of the keys that gets the other share",
    },
    OptionSpec {
        name: "rand_zipfian_exp",
        default: "0.8",
        help: "zipfian: exponent",
    },
];

/// Draws keys from 1 to n.
#[derive(Clone, Debug)]
pub struct Keys {
    n: u32,
    shape: Shape,
}

#[derive(Clone, Debug)]
enum Shape {
    Uniform,
    Special {
        iterations: u32,
        hot_share: f64,
        range_factor: f64,
    },
    Pareto {
        power: f64,
    },
    Zipfian {
        exponent: f64,
        shortcut: f64,
        area_first: f64,
        area_last: f64,
    },
}

impl Keys {
    /// Keys from 1 to `n`, with the options of `OPTIONS`. The message says which value is wrong and what is allowed.
    pub fn new(n: u32, options: &BTreeMap<String, String>) -> Result<Keys, String> {
        if n == 0 {
            return Err("keys: at least one key is needed, got 0".into());
        }
        let text = |name: &str| options.get(name).map_or("", String::as_str);
        let number = |name: &str, low: f64, high: f64| -> Result<f64, String> {
            text(name)
                .parse()
                .ok()
                .filter(|value| (low..=high).contains(value))
                .ok_or_else(|| {
                    format!(
                        "option {name}: a number from {low} to {high} is needed, got {:?}",
                        text(name)
                    )
                })
        };
        let shape = match text("rand_type") {
            "uniform" => Shape::Uniform,
            "special" => Shape::Special {
                iterations: number("rand_spec_iter", 1.0, 1000.0)? as u32,
                hot_share: number("rand_spec_pct", 0.0, 100.0)? / 100.0,
                range_factor: 100.0 / (100.0 - number("rand_spec_res", 0.0, 99.0)?),
            },
            "pareto" => {
                let h = number("rand_pareto_h", 0.001, 0.999)?;
                Shape::Pareto {
                    power: h.ln() / (1.0 - h).ln(),
                }
            }
            "zipfian" => zipfian(n, number("rand_zipfian_exp", 0.0, 100.0)?),
            other => {
                return Err(format!(
                    "option rand_type: uniform, special, pareto or zipfian is needed, got {other:?}"
                ));
            }
        };
        Ok(Keys { n, shape })
    }

    /// The next key, from 1 to n.
    #[inline]
    pub fn draw(&self, rng: &mut Rng) -> u32 {
        match self.shape {
            Shape::Uniform => rng.between(1, i64::from(self.n)) as u32,
            Shape::Special {
                iterations,
                hot_share,
                range_factor,
            } => {
                let span = f64::from(self.n - 1);
                let unit = rng.unit();
                let offset = if unit * range_factor < 1.0 {
                    // The cold part: a bell over all keys.
                    (0..iterations).map(|_| rng.unit()).sum::<f64>() / f64::from(iterations) * span
                } else {
                    // The hot part: evenly over a narrow band in the middle.
                    unit * (span * hot_share + 1.0) + span / 2.0 - span * hot_share / 2.0
                };
                1 + (offset as u32).min(self.n - 1)
            }
            Shape::Pareto { power } => 1 + ((f64::from(self.n) * rng.unit().powf(power)) as u32).min(self.n - 1),
            Shape::Zipfian {
                exponent,
                shortcut,
                area_first,
                area_last,
            } => loop {
                let area = area_last + rng.unit() * (area_first - area_last);
                let x = area_inverse(area, exponent);
                let key = ((x + 0.5) as u32).clamp(1, self.n);
                let k = f64::from(key);
                if k - x <= shortcut || area >= area_below(k + 0.5, exponent) - height(k, exponent) {
                    return key;
                }
            },
        }
    }
}

fn zipfian(n: u32, exponent: f64) -> Shape {
    Shape::Zipfian {
        exponent,
        shortcut: 2.0 - area_inverse(area_below(2.5, exponent) - height(2.0, exponent), exponent),
        area_first: area_below(1.5, exponent) - 1.0,
        area_last: area_below(f64::from(n) + 0.5, exponent),
    }
}

/// The hat function x^-e.
fn height(x: f64, exponent: f64) -> f64 {
    (-exponent * x.ln()).exp()
}

/// Integral of the hat: (x^(1-e) - 1) / (1-e), or ln x where e is 1.
fn area_below(x: f64, exponent: f64) -> f64 {
    let log_x = x.ln();
    let t = (1.0 - exponent) * log_x;
    // exp_m1(t)/t loses its digits near 0, where the first terms of its series are exact enough.
    let factor = if t.abs() > 1e-8 { t.exp_m1() / t } else { 1.0 + t / 2.0 };
    factor * log_x
}

/// Inverse of `area_below`.
fn area_inverse(area: f64, exponent: f64) -> f64 {
    // Rounding may bring t slightly below the domain of the logarithm.
    let t = (area * (1.0 - exponent)).max(-1.0);
    let factor = if t.abs() > 1e-8 { t.ln_1p() / t } else { 1.0 - t / 2.0 };
    (factor * area).exp()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use proptest::prelude::*;

    fn keys(n: u32, rand_type: &str) -> Keys {
        let mut options: BTreeMap<String, String> = OPTIONS
            .iter()
            .map(|option| (option.name.to_string(), option.default.to_string()))
            .collect();
        options.insert("rand_type".into(), rand_type.into());
        Keys::new(n, &options).unwrap()
    }

    fn share(rand_type: &str, wanted: impl Fn(u32) -> bool) -> f64 {
        let keys = keys(1000, rand_type);
        let mut rng = Rng::new(42, 0);
        (0..100_000).filter(|_| wanted(keys.draw(&mut rng))).count() as f64 / 100_000.0
    }

    #[test]
    fn shapes_have_their_defining_shares() {
        assert!((share("uniform", |k| k <= 200) - 0.2).abs() < 0.01);
        // 20 % of the keys get 80 % of the draws.
        assert!((share("pareto", |k| k <= 200) - 0.8).abs() < 0.01);
        // 75 % of the draws hit the middle 1 %; the bell adds a little.
        let hot = share("special", |k| (495..=506).contains(&k));
        assert!((0.75..0.82).contains(&hot), "{hot}");
        // P(1) of Zipf(0.8) over 1000 keys is 1 / sum(k^-0.8).
        let total: f64 = (1..=1000).map(|k| f64::from(k).powf(-0.8)).sum();
        assert!((share("zipfian", |k| k == 1) - 1.0 / total).abs() < 0.005);
        assert!((share("zipfian", |k| k == 10) - 10f64.powf(-0.8) / total).abs() < 0.005);
    }

    #[test]
    fn a_bad_option_is_explained() {
        let options = BTreeMap::from([("rand_type".to_string(), "gauss".to_string())]);
        let message = Keys::new(5, &options).unwrap_err();
        assert_eq!(
            message,
            "option rand_type: uniform, special, pareto or zipfian is needed, got \"gauss\""
        );
    }

    proptest! {
        #[test]
        fn keys_stay_in_range(
            n in 1u32..2_000_000, seed in any::<u64>(),
            shape in prop::sample::select(vec!["uniform", "special", "pareto", "zipfian"]),
        ) {
            let keys = keys(n, shape);
            let mut rng = Rng::new(seed, 0);
            for _ in 0..100 {
                prop_assert!((1..=n).contains(&keys.draw(&mut rng)));
            }
        }
    }
}
