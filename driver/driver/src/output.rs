//! The single writer of events. Nothing else writes to standard output.

use std::io::Write;
use std::sync::Arc;

use dyno_core::clock::{Clock as _, SystemClock};
use dyno_core::event::Event;
use serde::Serialize;

use crate::stop::{Reason, Stop};

pub struct Output {
    stream: Box<dyn Write>,
    clock: SystemClock,
    stop: Arc<Stop>,
}

#[derive(Serialize)]
struct Line<'a> {
    #[serde(flatten)]
    event: &'a Event,
    t_s: f64,
}

impl Output {
    pub fn new(stream: Box<dyn Write>, clock: SystemClock, stop: Arc<Stop>) -> Output {
        Output { stream, clock, stop }
    }

    /// Writes one event. A reader that went away (EPIPE) or a full disk raises the stop: measuring for nobody is load
    /// on a server for nothing.
    pub fn emit(&mut self, event: &Event) {
        let t_s = self.clock.now_ns() as f64 / 1e9;
        let mut line = match serde_json::to_vec(&Line { event, t_s }) {
            Ok(line) => line,
            Err(error) => unreachable!("events have only text keys and finite numbers: {error}"),
        };
        line.push(b'\n');
        if self.stream.write_all(&line).and_then(|()| self.stream.flush()).is_err() {
            self.stop.raise(Reason::Unheard);
        }
    }
}
