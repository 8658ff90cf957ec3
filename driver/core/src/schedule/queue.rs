//! The queue of an open loop: arrivals that are due wait here for a free connection, and the wait is part of their
//! response time. The queue has a limit; what does not fit is counted, never silently lost.

use std::collections::VecDeque;

use super::Arrivals;

/// Arrivals of one phase, in absolute nanoseconds on the driver's clock.
pub struct ArrivalQueue {
    arrivals: Box<dyn Arrivals + Send>,
    start_ns: u64,
    end_ns: u64,
    events_left: u64,
    next_ns: Option<u64>,
    waiting: VecDeque<u64>,
    limit: usize,
    backlog_max: u64,
    dropped: u64,
}

impl ArrivalQueue {
    /// Arrivals from `start_ns` until `end_ns` (exclusive), at most `events` of them, at most `limit` waiting.
    pub fn new(arrivals: Box<dyn Arrivals + Send>, start_ns: u64, end_ns: u64, events: u64, limit: usize) -> Self {
        let mut queue = ArrivalQueue {
            arrivals,
            start_ns,
            end_ns,
            events_left: events,
            next_ns: None,
            waiting: VecDeque::new(),
            limit,
            backlog_max: 0,
            dropped: 0,
        };
        queue.draw();
        queue
    }

    fn draw(&mut self) {
        self.next_ns = None;
        if self.events_left > 0 {
            let at_ns = self.start_ns.saturating_add(self.arrivals.next_ns());
            if at_ns < self.end_ns {
                self.events_left -= 1;
                self.next_ns = Some(at_ns);
            }
        }
    }

    /// Moves all arrivals that are due at `now_ns` into the queue.
    pub fn advance(&mut self, now_ns: u64) {
        while let Some(at_ns) = self.next_ns.filter(|&at_ns| at_ns <= now_ns) {
            if self.waiting.len() < self.limit {
                self.waiting.push_back(at_ns);
            } else {
                self.dropped += 1;
            }
            self.draw();
        }
        self.backlog_max = self.backlog_max.max(self.waiting.len() as u64);
    }

    /// The oldest waiting arrival's intended start.
    pub fn take(&mut self, now_ns: u64) -> Option<u64> {
        self.advance(now_ns);
        self.waiting.pop_front()
    }

    /// The oldest arrival that nobody has claimed: one that waits, or else the next one to come, for which the claimant
    /// waits itself. Claims are in order, so that an arrival starts late only when all connections are busy: one queue
    /// for all, whoever holds it. `None` when there are no more.
    pub fn claim(&mut self, now_ns: u64) -> Option<u64> {
        if let Some(intended_ns) = self.take(now_ns) {
            return Some(intended_ns);
        }
        let intended_ns = self.next_ns?;
        self.draw();
        Some(intended_ns)
    }

    /// When the next arrival that is not yet in the queue is due; `None` when there are no more.
    pub fn next_ns(&self) -> Option<u64> {
        self.next_ns
    }

    /// No arrival waits and none will come.
    pub fn is_over(&self) -> bool {
        self.next_ns.is_none() && self.waiting.is_empty()
    }

    /// Arrivals that wait now.
    pub fn backlog(&self) -> u64 {
        self.waiting.len() as u64
    }

    /// The most arrivals that ever waited.
    pub fn backlog_max(&self) -> u64 {
        self.backlog_max
    }

    /// Arrivals for which the queue had no room.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }
}

#[cfg(test)]
mod tests {
    use super::super::Constant;
    use super::*;

    #[test]
    fn a_full_queue_counts_what_it_drops() {
        let mut queue = ArrivalQueue::new(Box::new(Constant::new(1000.0)), 0, u64::MAX, 100, 10);
        queue.advance(1_000_000_000);
        assert_eq!((queue.backlog(), queue.backlog_max(), queue.dropped()), (10, 10, 90));
        assert_eq!(queue.next_ns(), None);
        assert_eq!(queue.take(1_000_000_000), Some(0));
    }

    #[test]
    fn arrivals_end_with_the_phase() {
        let mut queue = ArrivalQueue::new(Box::new(Constant::new(10.0)), 500, 1_000_000_500, u64::MAX, 100);
        let mut taken = 0;
        while queue.take(u64::MAX - 1).is_some() {
            taken += 1;
        }
        assert_eq!(taken, 10);
        assert!(queue.is_over());
    }
}
