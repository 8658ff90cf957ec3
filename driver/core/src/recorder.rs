//! Counts and times of transactions. The only way in is `Recorder::record`, which takes all three times, so that no
//! caller can leave out the time that a transaction waited.

use std::collections::BTreeMap;

use crate::histogram::Times;

/// The three times of a transaction, nanoseconds on the driver's clock.
#[derive(Clone, Copy, Debug)]
pub struct Moments {
    /// When the schedule wanted it to start.
    pub intended_ns: u64,
    /// When its first byte left.
    pub sent_ns: u64,
    /// When its last byte came back, retries included.
    pub done_ns: u64,
}

/// How a transaction ended for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    Committed,
    /// Rolled back because the specification wants it: a success.
    RolledBack,
    /// Given up after the allowed retries; its times are not counted.
    GivenUp,
}

/// Counts and times of one transaction type over some span.
#[derive(Clone, Debug, Default)]
pub struct TypeTally {
    /// Successful transactions, rolled back ones included.
    pub count: u64,
    pub rollbacks: u64,
    /// Attempts repeated after a failure.
    pub retries: u64,
    /// Failed attempts by class.
    pub errors: BTreeMap<&'static str, u64>,
    pub response: Times,
    pub service: Times,
}

/// Counts and times of everything over some span.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    pub types: Vec<TypeTally>,
    /// Statements: read, write, other.
    pub statements: [u64; 3],
    pub reconnects: u64,
    pub lag_ns_max: u64,
}

impl Tally {
    /// An empty tally of `types` transaction types.
    pub fn new(types: usize) -> Self {
        Tally {
            types: vec![TypeTally::default(); types],
            ..Tally::default()
        }
    }

    /// Adds all of `other`, which must count the same types.
    pub fn merge(&mut self, other: &Tally) {
        assert_eq!(self.types.len(), other.types.len(), "tallies of different workloads");
        for (mine, theirs) in self.types.iter_mut().zip(&other.types) {
            mine.count += theirs.count;
            mine.rollbacks += theirs.rollbacks;
            mine.retries += theirs.retries;
            for (class, count) in &theirs.errors {
                *mine.errors.entry(class).or_default() += count;
            }
            mine.response.merge(&theirs.response);
            mine.service.merge(&theirs.service);
        }
        for (mine, theirs) in self.statements.iter_mut().zip(other.statements) {
            *mine += theirs;
        }
        self.reconnects += other.reconnects;
        self.lag_ns_max = self.lag_ns_max.max(other.lag_ns_max);
    }

    /// Response and service times of all types together.
    pub fn times(&self) -> (Times, Times) {
        let mut all = (Times::default(), Times::default());
        for one in &self.types {
            all.0.merge(&one.response);
            all.1.merge(&one.service);
        }
        all
    }

    /// Successful transactions of all types.
    pub fn count(&self) -> u64 {
        self.types.iter().map(|one| one.count).sum()
    }
}

/// Collects one interval after another. Boundaries are start + k × interval, whatever the caller's timers do: a
/// transaction belongs to the interval in which it was done.
#[derive(Debug)]
pub struct Recorder {
    current: Tally,
    closed: Vec<(u64, Tally)>,
    start_ns: u64,
    interval_ns: u64,
    index: u64,
    /// The boundary that is the end of the phase stays open for transactions that were under way.
    end_ns: u64,
}

impl Recorder {
    /// A recorder of `types` transaction types for a phase from `start_ns` to about `end_ns`.
    pub fn new(types: usize, start_ns: u64, interval_ns: u64, end_ns: u64) -> Self {
        Recorder {
            current: Tally::new(types),
            closed: Vec::new(),
            start_ns,
            interval_ns: interval_ns.max(1),
            index: 0,
            end_ns,
        }
    }

    /// When the current interval ends.
    pub fn boundary_ns(&self) -> u64 {
        let boundary_ns = self
            .start_ns
            .saturating_add((self.index + 1).saturating_mul(self.interval_ns));
        if boundary_ns.abs_diff(self.end_ns) < 1_000 {
            boundary_ns.saturating_add(self.interval_ns)
        } else {
            boundary_ns
        }
    }

    /// Counts one transaction: the only entry.
    #[inline]
    pub fn record(&mut self, kind: usize, moments: Moments, ending: Ending) {
        self.advance(moments.done_ns);
        let Moments {
            intended_ns,
            sent_ns,
            done_ns,
        } = moments;
        let one = &mut self.current.types[kind];
        if ending == Ending::GivenUp {
            *one.errors.entry("given_up").or_default() += 1;
            return;
        }
        one.count += 1;
        one.rollbacks += u64::from(ending == Ending::RolledBack);
        one.response.record(done_ns.saturating_sub(intended_ns));
        one.service.record(done_ns.saturating_sub(sent_ns));
        self.current.lag_ns_max = self.current.lag_ns_max.max(sent_ns.saturating_sub(intended_ns));
    }

    /// Counts a failed attempt and, unless it is given up, its repetition.
    pub fn failure(&mut self, kind: usize, class: &'static str, repeated: bool) {
        let one = &mut self.current.types[kind];
        *one.errors.entry(class).or_default() += 1;
        one.retries += u64::from(repeated);
    }

    /// Counts statements: read, write, other.
    #[inline]
    pub fn statements(&mut self, counts: [u64; 3]) {
        for (mine, more) in self.current.statements.iter_mut().zip(counts) {
            *mine += more;
        }
    }

    pub fn reconnected(&mut self) {
        self.current.reconnects += 1;
    }

    /// Closes all intervals that ended by `now_ns`.
    #[inline]
    pub fn advance(&mut self, now_ns: u64) {
        while now_ns >= self.boundary_ns() {
            let ended_ns = self.boundary_ns();
            self.close(ended_ns);
        }
    }

    #[cold]
    fn close(&mut self, ended_ns: u64) {
        let fresh = Tally::new(self.current.types.len());
        self.closed
            .push((ended_ns, std::mem::replace(&mut self.current, fresh)));
        self.index = (ended_ns - self.start_ns) / self.interval_ns;
    }

    /// Closes the last interval at `ended_ns`.
    pub fn finish(&mut self, ended_ns: u64) {
        self.advance(ended_ns);
        self.closed
            .push((ended_ns, std::mem::replace(&mut self.current, Tally::new(0))));
    }

    /// Some interval was closed since the last `take_closed`.
    #[inline]
    pub fn has_closed(&self) -> bool {
        !self.closed.is_empty()
    }

    /// Intervals closed since the last call: when each ended, and what it held.
    pub fn take_closed(&mut self) -> Vec<(u64, Tally)> {
        std::mem::take(&mut self.closed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(done_ns: u64) -> Moments {
        Moments {
            intended_ns: done_ns.saturating_sub(30),
            sent_ns: done_ns.saturating_sub(20),
            done_ns,
        }
    }

    #[test]
    fn intervals_are_aligned_and_the_last_takes_the_tail() {
        let mut recorder = Recorder::new(1, 1_000_000, 10_000, 1_030_000);
        for done_ns in [1_000_005, 1_010_000, 1_025_000, 1_030_007] {
            recorder.record(0, at(done_ns), Ending::Committed);
        }
        recorder.finish(1_030_007);
        let closed: Vec<(u64, u64)> = recorder
            .take_closed()
            .iter()
            .map(|(end, tally)| (*end, tally.count()))
            .collect();
        assert_eq!(closed, vec![(1_010_000, 1), (1_020_000, 1), (1_030_007, 2)]);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_merging_is_associative(gaps in prop::collection::vec(0u64..5_000, 1..200)) {
            let mut recorder = Recorder::new(1, 0, 7_000, u64::MAX);
            let mut now_ns = 0;
            for gap in &gaps {
                now_ns += gap;
                recorder.record(0, at(now_ns), Ending::Committed);
            }
            recorder.finish(now_ns);
            let closed = recorder.take_closed();
            let mut left = Tally::new(1);
            closed.iter().for_each(|(_, tally)| left.merge(tally));
            let mut right = Tally::new(1);
            closed.iter().rev().for_each(|(_, tally)| right.merge(tally));
            prop_assert_eq!(left.count(), gaps.len() as u64);
            prop_assert_eq!(left.times().0.percentile_ns(50.0), right.times().0.percentile_ns(50.0));
        }
    }
}
