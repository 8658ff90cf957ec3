//! Histograms of times: values in nanoseconds, 3 significant digits, lowest discernible value 1,000 ns, highest
//! 3,600 s, in the standard V2 compressed encoding (HdrHistogram, Gil Tene), so that any language can merge them.

use base64::Engine as _;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer as _, V2DeflateSerializer};
use serde::Serialize;

/// Lowest discernible value.
pub const LOW_NS: u64 = 1_000;
/// Values above are counted as this one.
pub const HIGH_NS: u64 = 3_600_000_000_000;
/// Significant decimal digits.
pub const DIGITS: u8 = 3;

/// A histogram of durations in nanoseconds.
#[derive(Clone, Debug)]
pub struct Times {
    inner: Histogram<u64>,
}

impl Default for Times {
    fn default() -> Self {
        let inner = Histogram::new_with_bounds(LOW_NS, HIGH_NS, DIGITS).expect("the bounds are constants that fit");
        Times { inner }
    }
}

/// What an event says about a histogram. All times in microseconds.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TimesSummary {
    pub count: u64,
    pub mean_us: f64,
    pub max_us: f64,
    pub p50_us: f64,
    pub p90_us: f64,
    pub p95_us: f64,
    pub p99_us: f64,
    pub p999_us: f64,
    /// Base64 of the V2 compressed encoding.
    pub hdr: String,
}

impl Times {
    /// Counts one duration.
    #[inline]
    pub fn record(&mut self, duration_ns: u64) {
        self.inner.saturating_record(duration_ns);
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Times) {
        if !other.inner.is_empty() {
            self.inner
                .add(&other.inner)
                .expect("all histograms have the same bounds");
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        if !self.inner.is_empty() {
            self.inner.reset();
        }
    }

    pub fn count(&self) -> u64 {
        self.inner.len()
    }

    /// The value at a percentile (0 to 100), nanoseconds; 0 when empty.
    pub fn percentile_ns(&self, percentile: f64) -> u64 {
        self.inner.value_at_percentile(percentile)
    }

    /// Figures and encoding for an event.
    pub fn summary(&self) -> TimesSummary {
        // An empty histogram has no maximum; 0 stands for it beside count 0.
        let us = |ns: u64| round(ns as f64 / 1e3);
        TimesSummary {
            count: self.inner.len(),
            mean_us: round(self.inner.mean() / 1e3),
            max_us: us(self.inner.max()),
            p50_us: us(self.percentile_ns(50.0)),
            p90_us: us(self.percentile_ns(90.0)),
            p95_us: us(self.percentile_ns(95.0)),
            p99_us: us(self.percentile_ns(99.0)),
            p999_us: us(self.percentile_ns(99.9)),
            hdr: self.encode(),
        }
    }

    fn encode(&self) -> String {
        let mut bytes = Vec::new();
        V2DeflateSerializer::new()
            .serialize(&self.inner, &mut bytes)
            .expect("writing to memory does not fail");
        base64::engine::general_purpose::STANDARD.encode(bytes)
    }
}

/// Three decimals: nanoseconds are as far as the clock goes.
fn round(value_us: f64) -> f64 {
    (value_us * 1e3).round() / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::serialization::Deserializer;

    #[test]
    fn the_encoding_reads_back() {
        let mut times = Times::default();
        for ns in [500, 1_000, 123_456, 7_000_000_000, u64::MAX] {
            times.record(ns);
        }
        let bytes = base64::engine::general_purpose::STANDARD
            .decode(times.summary().hdr)
            .unwrap();
        let back: Histogram<u64> = Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
        assert_eq!(back.len(), 5);
        assert_eq!((back.low(), back.sigfig()), (LOW_NS, DIGITS));
        assert_eq!(back.value_at_quantile(0.6), times.percentile_ns(60.0));
    }
}
