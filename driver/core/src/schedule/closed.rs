//! Closed loop: an event is intended as soon as the previous one of its connection is done. It measures throughput; its
//! response times hide every stall after the first event that met it (coordinated omission).

/// The closed loop of one connection.
#[derive(Clone, Copy, Debug)]
pub struct Closed {
    previous_done_ns: u64,
}

impl Closed {
    /// A loop whose first event is intended at `start_ns`.
    pub fn new(start_ns: u64) -> Self {
        Closed {
            previous_done_ns: start_ns,
        }
    }

    /// Intended start of the next event.
    pub fn intended_ns(&self) -> u64 {
        self.previous_done_ns
    }

    /// Tells that the event ended.
    pub fn done(&mut self, done_ns: u64) {
        self.previous_done_ns = self.previous_done_ns.max(done_ns);
    }
}
