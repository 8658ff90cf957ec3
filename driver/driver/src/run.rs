//! The verb `run`: starts the workers, lets them run the phases, merges what they tell, writes the events.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use dyno_core::clock::Clock as _;
use dyno_core::event::{ErrorEvent, Event, Gauges, Interval, PhaseEvent, Summary, TypeTimes};
use dyno_core::plan::{self, Mode};
use dyno_core::recorder::Tally;
use dyno_core::rng::Rng;
use dyno_core::schedule::{ArrivalQueue, arrivals};
use dyno_core::workload::Workload;
use dyno_wire::Wire;

use crate::failure;
use crate::output::Output;
use crate::stop::Reason;
use crate::ticker::Ticker;
use crate::usage::Usage;
use crate::worker::{Message, SCHEDULE_STREAMS, Shared, StartPhase, work};

/// How often workers that block in a socket are made to look at timers and at the wish to stop.
const PATIENCE: Duration = Duration::from_millis(100);

/// Runs all phases.
pub fn run<W: Workload, C: Wire + 'static>(shared: &Shared, output: &mut Output) -> Result<(), ErrorEvent> {
    let workload = W::new(&shared.settings).map_err(|message| failure::own("plan", message, ""))?;
    let (tell, told) = channel();
    let ticker = Ticker::new().map_err(|error| failure::io("installing a signal handler", &error))?;
    let ticker = &ticker;
    std::thread::scope(|scope| {
        let mut starts = Vec::new();
        for index in 0..shared.plan.workers {
            let (start, phases) = channel();
            starts.push(start);
            let tell = tell.clone();
            let spawned = std::thread::Builder::new()
                .name(format!("worker-{index}"))
                .spawn_scoped(scope, move || {
                    ticker.add_this_thread();
                    work::<W, C>(shared, index, phases, &tell);
                });
            if let Err(error) = spawned {
                shared.stop.raise(Reason::Failure);
                return Err(failure::io("starting a worker thread", &error));
            }
        }
        drop(tell);
        let mut coordinator = Coordinator {
            shared,
            workload: &workload,
            output,
            starts,
            told,
            ticker,
            ticked: Instant::now(),
        };
        let result = coordinator.run();
        coordinator.dismiss();
        result
    })
}

struct Coordinator<'a, W> {
    shared: &'a Shared,
    workload: &'a W,
    output: &'a mut Output,
    starts: Vec<Sender<StartPhase>>,
    told: Receiver<Message>,
    ticker: &'a Ticker,
    ticked: Instant,
}

/// One worker's closed intervals that wait for those of the others.
#[derive(Default)]
struct Waiting {
    intervals: VecDeque<(u64, Tally, Gauges)>,
    ended: bool,
}

impl<W: Workload> Coordinator<'_, W> {
    /// Ends the workers: no more phases, and nobody stays in a socket.
    fn dismiss(mut self) {
        self.starts.clear();
        while self.next().is_some() {}
    }

    fn run(&mut self) -> Result<(), ErrorEvent> {
        for _ in 0..self.starts.len() {
            match self.next() {
                Some(Message::Failed(error)) => return Err(error),
                Some(_) => {}
                None => return Ok(()),
            }
        }
        for phase in self.shared.plan.phases.clone() {
            if self.shared.stop.is_raised() {
                break;
            }
            self.phase(&phase)?;
        }
        Ok(())
    }

    /// The next message; `None` when all workers are gone.
    fn next(&mut self) -> Option<Message> {
        loop {
            if self.ticked.elapsed() >= PATIENCE {
                self.ticked = Instant::now();
                self.ticker.tick();
            }
            match self.told.recv_timeout(PATIENCE) {
                Ok(message) => return Some(message),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
    }

    fn phase(&mut self, phase: &plan::Phase) -> Result<(), ErrorEvent> {
        let (workers, pipeline) = (self.shared.plan.workers, self.shared.plan.pipeline);
        let event = |state| {
            let (name, plan) = (phase.name.clone(), phase.clone());
            Event::Phase(PhaseEvent {
                phase: name,
                state,
                measured: phase.measured,
                workers,
                pipeline,
                plan,
            })
        };
        let mine = Usage::of_this_thread();
        self.output.emit(&event("start"));
        let start_ns = self.shared.clock.now_ns();
        let queue = self.queue(phase, start_ns);
        for start in &self.starts {
            // A worker that is gone has told why; that is read below.
            let _ = start.send(StartPhase {
                phase: phase.clone(),
                start_ns,
                queue: queue.clone(),
            });
        }
        let types = self.workload.transaction_types().len();
        let mut merge = Merge::new(start_ns, self.starts.len(), types);
        let mut usage = Usage::default();
        let mut failed = None;
        while !merge.is_over() {
            match self.next() {
                Some(Message::Interval {
                    worker,
                    ended_ns,
                    tally,
                    gauges,
                }) => {
                    merge.workers[worker as usize]
                        .intervals
                        .push_back((ended_ns, tally, gauges));
                }
                Some(Message::PhaseEnd { worker, usage: part }) => {
                    merge.workers[worker as usize].ended = true;
                    usage = usage.plus(part);
                }
                Some(Message::Failed(error)) => failed = failed.or(Some(error)),
                Some(Message::Connected) => {}
                None => break,
            }
            while let Some((seconds, tally, gauges)) = merge.next() {
                self.interval(phase, seconds, &tally, gauges);
            }
        }
        let usage = usage.plus(Usage::of_this_thread().since(mine));
        self.summary(phase, &merge, usage);
        self.output.emit(&event("end"));
        failed.map_or(Ok(()), Err)
    }

    /// The queue of an open loop.
    fn queue(&self, phase: &plan::Phase, start_ns: u64) -> Option<Arc<Mutex<ArrivalQueue>>> {
        if phase.mode == Mode::Closed {
            return None;
        }
        let plan = &self.shared.plan;
        let shape = arrivals(&phase.arrivals, phase.rate_per_s, Rng::new(plan.seed, SCHEDULE_STREAMS))
            .expect("the plan was validated");
        let end_ns = if phase.time_s > 0.0 {
            start_ns + (phase.time_s * 1e9) as u64
        } else {
            u64::MAX
        };
        let events = if phase.events > 0 { phase.events } else { u64::MAX };
        let queue = ArrivalQueue::new(shape, start_ns, end_ns, events, plan.backlog_max as usize);
        Some(Arc::new(Mutex::new(queue)))
    }

    fn interval(&mut self, phase: &plan::Phase, seconds: f64, tally: &Tally, gauges: Gauges) {
        let names = self.workload.transaction_types();
        let interval = Interval::new(&phase.name, seconds, self.shared.plan.threads, names, tally, gauges);
        self.output.emit(&Event::Interval(Box::new(interval)));
    }

    fn summary(&mut self, phase: &plan::Phase, merge: &Merge, usage: Usage) {
        let names = self.workload.transaction_types();
        let seconds = (merge.previous_ns - merge.start_ns) as f64 / 1e9;
        let total = &merge.total;
        let counts: Vec<u64> = total.types.iter().map(|one| one.count).collect();
        let rolled_back: Vec<u64> = total.types.iter().map(|one| one.rollbacks).collect();
        let times = names.iter().zip(&total.types).map(|(name, one)| {
            (
                *name,
                TypeTimes {
                    response: one.response.summary(),
                    service: one.service.summary(),
                },
            )
        });
        self.output.emit(&Event::Summary(Box::new(Summary {
            interval: Interval::new(
                &phase.name,
                seconds,
                self.shared.plan.threads,
                names,
                total,
                merge.gauges,
            ),
            started_t_s: merge.start_ns as f64 / 1e9,
            by_type: times.collect(),
            workload: if seconds > 0.0 {
                self.workload.figures(&counts, &rolled_back, seconds)
            } else {
                Default::default()
            },
            cpu_user_us: usage.user_us,
            cpu_system_us: usage.system_us,
            interrupted: self.shared.stop.is_raised(),
        })));
    }
}

/// Merges the intervals of all workers, in order.
struct Merge {
    start_ns: u64,
    previous_ns: u64,
    workers: Vec<Waiting>,
    total: Tally,
    gauges: Gauges,
}

impl Merge {
    fn new(start_ns: u64, workers: usize, types: usize) -> Merge {
        Merge {
            start_ns,
            previous_ns: start_ns,
            workers: (0..workers).map(|_| Waiting::default()).collect(),
            total: Tally::new(types),
            gauges: Gauges::default(),
        }
    }

    fn is_over(&self) -> bool {
        self.workers
            .iter()
            .all(|worker| worker.ended && worker.intervals.is_empty())
    }

    /// The next interval that all workers have closed: its seconds, counts and gauges.
    fn next(&mut self) -> Option<(f64, Tally, Gauges)> {
        if self
            .workers
            .iter()
            .any(|worker| worker.intervals.is_empty() && !worker.ended)
        {
            return None;
        }
        let mut tally = Tally::new(self.total.types.len());
        let mut gauges = Gauges::default();
        let mut ended_ns = self.previous_ns;
        let mut any = false;
        for (end_ns, part, part_gauges) in self
            .workers
            .iter_mut()
            .filter_map(|worker| worker.intervals.pop_front())
        {
            any = true;
            ended_ns = ended_ns.max(end_ns);
            tally.merge(&part);
            gauges.in_flight += part_gauges.in_flight;
            gauges.backlog += part_gauges.backlog;
            gauges.backlog_max += part_gauges.backlog_max;
            gauges.dropped += part_gauges.dropped;
        }
        if !any {
            return None;
        }
        let seconds = (ended_ns - self.previous_ns) as f64 / 1e9;
        self.previous_ns = ended_ns;
        self.total.merge(&tally);
        self.gauges = gauges;
        Some((seconds, tally, gauges))
    }
}
