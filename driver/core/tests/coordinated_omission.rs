//! The test that defines the product: a server that stands still for one second must show it. In an open loop every
//! arrival of that second waits, so that response times tell the truth; service times, and a closed loop, hide it.
//! Simulated clock and server: nothing here depends on the machine's speed.

use dyno_core::clock::{Clock, SimulatedClock};
use dyno_core::recorder::{Ending, Moments, Recorder, Tally};
use dyno_core::rng::Rng;
use dyno_core::schedule::{ArrivalQueue, Closed, arrivals};

const SECOND_NS: u64 = 1_000_000_000;
const SERVICE_NS: u64 = 1_000_000;
const CONNECTIONS: usize = 8;
const STALL_FROM_NS: u64 = 5 * SECOND_NS;
const STALL_UNTIL_NS: u64 = 6 * SECOND_NS;
const END_NS: u64 = 10 * SECOND_NS;

/// When the server answers what it got at `sent_ns`: it does nothing during the stall.
fn answered_ns(sent_ns: u64) -> u64 {
    let done_ns = sent_ns + SERVICE_NS;
    if done_ns > STALL_FROM_NS && sent_ns < STALL_UNTIL_NS {
        done_ns + STALL_UNTIL_NS - STALL_FROM_NS.max(sent_ns)
    } else {
        done_ns
    }
}

fn total(mut recorder: Recorder, now_ns: u64) -> Tally {
    recorder.finish(now_ns);
    let mut total = Tally::new(1);
    recorder.take_closed().iter().for_each(|(_, tally)| total.merge(tally));
    total
}

fn open_loop(shape: &str) -> Tally {
    let clock = SimulatedClock::default();
    let shape = arrivals(shape, 1000.0, Rng::new(42, 0)).expect("a known shape");
    let mut queue = ArrivalQueue::new(shape, 0, END_NS, u64::MAX, 1_000_000);
    let mut recorder = Recorder::new(1, 0, SECOND_NS, END_NS);
    let mut free_at_ns = [0u64; CONNECTIONS];
    while !queue.is_over() {
        let connection = (0..CONNECTIONS)
            .min_by_key(|index| free_at_ns[*index])
            .expect("there are connections");
        clock.set_ns(free_at_ns[connection]);
        let intended_ns = match queue.take(clock.now_ns()) {
            Some(intended_ns) => intended_ns,
            None => {
                clock.set_ns(queue.next_ns().expect("the queue is not over"));
                queue.take(clock.now_ns()).expect("an arrival is due")
            }
        };
        let sent_ns = clock.now_ns();
        let done_ns = answered_ns(sent_ns);
        recorder.record(
            0,
            Moments {
                intended_ns,
                sent_ns,
                done_ns,
            },
            Ending::Committed,
        );
        free_at_ns[connection] = done_ns;
    }
    total(recorder, END_NS + 2 * SECOND_NS)
}

fn closed_loop() -> Tally {
    let mut recorder = Recorder::new(1, 0, SECOND_NS, END_NS);
    let mut schedules = [Closed::new(0); CONNECTIONS];
    loop {
        let schedule = schedules
            .iter_mut()
            .min_by_key(|schedule| schedule.intended_ns())
            .expect("there are some");
        let intended_ns = schedule.intended_ns();
        if intended_ns >= END_NS {
            return total(recorder, END_NS + 2 * SECOND_NS);
        }
        let done_ns = answered_ns(intended_ns);
        recorder.record(
            0,
            Moments {
                intended_ns,
                sent_ns: intended_ns,
                done_ns,
            },
            Ending::Committed,
        );
        schedule.done(done_ns);
    }
}

#[test]
fn an_open_loop_shows_the_stall_in_response_times() {
    for shape in ["poisson", "constant"] {
        let (response, service) = open_loop(shape).times();
        // A tenth of all arrivals fell into the stall and waited half a second on average.
        assert!(
            response.percentile_ns(99.9) > 950_000_000,
            "{shape}: {}",
            response.percentile_ns(99.9)
        );
        assert!(
            response.percentile_ns(95.0) > 300_000_000,
            "{shape}: {}",
            response.percentile_ns(95.0)
        );
        // Only eight transactions were under way: fewer than one in a thousand.
        assert!(
            service.percentile_ns(99.9) < 2 * SERVICE_NS,
            "{shape}: {}",
            service.percentile_ns(99.9)
        );
    }
}

#[test]
fn a_closed_loop_hides_the_stall() {
    let (response, _) = closed_loop().times();
    assert!(response.percentile_ns(99.9) < 2 * SERVICE_NS);
}
