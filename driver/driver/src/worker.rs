//! A worker thread: an executor, its share of the connections, and the phases that the coordinator asks for.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex};

use dyno_core::clock::SystemClock;
use dyno_core::event::{ErrorEvent, Gauges};
use dyno_core::plan::{self, Mode, Plan};
use dyno_core::recorder::{Recorder, Tally};
use dyno_core::rng::Rng;
use dyno_core::schedule::ArrivalQueue;
use dyno_core::workload::{Settings, Workload};
use dyno_wire::{Runtime as _, Wire};

use crate::client::{Connector, Phase, Slot, lock};
use crate::executor::{Executor, Step, Task};
use crate::failure;
use crate::scheduling;
use crate::stop::{Reason, Stop};
use crate::usage::Usage;

/// After an interruption, transactions under way get this long.
const INTERRUPT_GRACE_NS: u64 = 5_000_000_000;
/// Random streams above all connections' belong to schedules and backoff.
pub const SCHEDULE_STREAMS: u64 = 1 << 32;
const BACKOFF_STREAMS: u64 = 1 << 33;

/// What the threads of a driver share.
#[derive(Clone)]
pub struct Shared {
    pub plan: Arc<Plan>,
    pub settings: Settings,
    pub stop: Arc<Stop>,
    pub clock: SystemClock,
    pub origin_ns: u64,
}

/// What the coordinator asks of a worker.
pub struct StartPhase {
    pub phase: plan::Phase,
    pub start_ns: u64,
    /// Open loop only: one queue for all workers.
    pub queue: Option<Arc<Mutex<ArrivalQueue>>>,
}

/// What a worker tells the coordinator.
pub enum Message {
    Connected,
    Interval {
        worker: u32,
        ended_ns: u64,
        tally: Tally,
        gauges: Gauges,
    },
    PhaseEnd {
        worker: u32,
        usage: Usage,
    },
    Failed(ErrorEvent),
}

/// The part of `total` that worker `index` of `count` gets.
fn share(total: u64, index: u32, count: u32) -> u64 {
    total / u64::from(count) + u64::from(u64::from(index) < total % u64::from(count))
}

/// The body of a worker thread.
pub fn work<W: Workload, C: Wire>(shared: &Shared, index: u32, phases: Receiver<StartPhase>, tell: &Sender<Message>) {
    let worker = Worker { shared, index, tell };
    if let Err(error) = worker.work::<W, C>(phases) {
        shared.stop.raise(Reason::Failure);
        // A coordinator that is gone has nothing to hear.
        let _ = tell.send(Message::Failed(error));
    }
}

struct Worker<'a> {
    shared: &'a Shared,
    index: u32,
    tell: &'a Sender<Message>,
}

impl Worker<'_> {
    fn work<W: Workload, C: Wire>(&self, phases: Receiver<StartPhase>) -> Result<(), ErrorEvent> {
        let Shared {
            plan,
            settings,
            stop,
            clock,
            origin_ns,
        } = self.shared;
        let workload = W::new(settings).map_err(|message| failure::own("plan", message, ""))?;
        let mut executor = Executor::new(*clock, *origin_ns, stop).map_err(|error| failure::io("epoll", &error))?;
        if plan.workers == plan.threads {
            executor = executor.direct();
        }
        let connector = Connector {
            plan,
            statements: workload.statements().into(),
            session: workload.session().into(),
            executor: Rc::new(executor),
            stop,
        };
        let mut slots: Vec<Slot<W, C>> = (self.index..plan.threads)
            .step_by(plan.workers as usize)
            .map(|number| Slot {
                client: workload.client(number, plan.threads),
                wire: None,
                rng: Rng::new(plan.seed, BACKOFF_STREAMS + u64::from(number)),
            })
            .collect();
        self.connect(&connector, &mut slots)?;
        let _ = self.tell.send(Message::Connected);
        for start in phases {
            self.phase(&connector, &workload, &mut slots, &start)?;
        }
        for wire in slots.iter_mut().filter_map(|slot| slot.wire.as_mut()) {
            wire.close();
        }
        Ok(())
    }

    fn connect<W: Workload, C: Wire>(
        &self,
        connector: &Connector<'_>,
        slots: &mut [Slot<W, C>],
    ) -> Result<(), ErrorEvent> {
        let first_error = RefCell::new(None);
        let connect = |slot| connect_slot(connector, slot, &first_error);
        let mut tasks: Vec<Option<Task<'_>>> = slots
            .iter_mut()
            .map(|slot| Some(Box::pin(connect(slot)) as Task<'_>))
            .collect();
        let step = |_| Step {
            deadline_ns: None,
            abandon: self.shared.stop.is_raised(),
        };
        connector
            .executor
            .run(&mut tasks, step)
            .map_err(|error| failure::io("epoll", &error))?;
        drop(tasks);
        first_error.into_inner().map_or(Ok(()), Err)
    }

    fn phase<W: Workload, C: Wire>(
        &self,
        connector: &Connector<'_>,
        workload: &W,
        slots: &mut [Slot<W, C>],
        start: &StartPhase,
    ) -> Result<(), ErrorEvent> {
        scheduling::prefer_throughput(start.phase.mode == Mode::Closed);
        let before = Usage::of_this_thread();
        let phase = self.prepare(connector, workload, start);
        let phase = &phase;
        let mut tasks: Vec<Option<Task<'_>>> = slots
            .iter_mut()
            .map(|slot| Some(Box::pin(phase.connection(slot)) as Task<'_>))
            .collect();
        let abandoned = Cell::new(false);
        let mut limit_ns = phase.end_ns.saturating_add((self.shared.plan.drain_s * 1e9) as u64);
        let result = connector.executor.run(&mut tasks, |now_ns| {
            if self.shared.stop.is_raised() {
                limit_ns = limit_ns.min(now_ns.saturating_add(INTERRUPT_GRACE_NS));
            }
            abandoned.set(now_ns >= limit_ns);
            self.step(phase, now_ns, limit_ns)
        });
        drop(tasks);
        result.map_err(|error| failure::io("epoll", &error))?;
        if abandoned.get() && !self.shared.stop.is_raised() {
            phase
                .error
                .borrow_mut()
                .get_or_insert(self.unanswered(phase.in_flight.get(), &start.phase.name));
        }
        // The coordinator must know of the failure before it sees the end of the phase.
        let failed = phase.error.borrow_mut().take();
        if let Some(error) = &failed {
            let _ = self.tell.send(Message::Failed(error.clone()));
        }
        self.finish(phase, start, before);
        failed.map_or(Ok(()), Err)
    }

    fn unanswered(&self, count: u64, phase: &str) -> ErrorEvent {
        let drain_s = self.shared.plan.drain_s;
        failure::own(
            "io",
            format!("{count} transactions were still unanswered {drain_s} s after the end of phase {phase:?}"),
            "See the server's log; drain_s in the plan sets how long the driver waits.",
        )
    }

    fn prepare<'a, W: Workload>(
        &self,
        connector: &'a Connector<'a>,
        workload: &'a W,
        start: &StartPhase,
    ) -> Phase<'a, W> {
        let plan = &self.shared.plan;
        let StartPhase { phase, start_ns, .. } = start;
        let end_ns = match phase.time_s {
            0.0 => u64::MAX,
            time_s => start_ns + (time_s * 1e9) as u64,
        };
        let events = if phase.events == 0 {
            u64::MAX
        } else {
            share(phase.events, self.index, plan.workers)
        };
        let interval_ns = (plan.interval_s * 1e9) as u64;
        Phase {
            connector,
            workload,
            recorder: RefCell::new(Recorder::new(
                workload.transaction_types().len(),
                *start_ns,
                interval_ns,
                end_ns,
            )),
            queue: start.queue.clone(),
            start_ns: *start_ns,
            end_ns,
            events_left: Cell::new(events),
            in_flight: Cell::new(0),
            done_ns_last: Cell::new(*start_ns),
            error: RefCell::new(None),
        }
    }

    /// Between two waits: close intervals, hand arrivals to idle connections, say when to look again.
    #[inline]
    fn step<W: Workload>(&self, phase: &Phase<'_, W>, now_ns: u64, limit_ns: u64) -> Step {
        let mut deadline_ns = limit_ns;
        {
            let mut recorder = phase.recorder.borrow_mut();
            recorder.advance(now_ns);
            deadline_ns = deadline_ns.min(recorder.boundary_ns());
        }
        self.tell_closed(phase);
        Step {
            deadline_ns: Some(deadline_ns),
            abandon: now_ns >= limit_ns,
        }
    }

    /// The queue is everyone's, so that only the first worker tells of it.
    fn gauges<W: Workload>(&self, phase: &Phase<'_, W>) -> Gauges {
        let mut gauges = Gauges {
            in_flight: phase.in_flight.get(),
            ..Gauges::default()
        };
        if let Some(queue) = phase.queue.as_ref().filter(|_| self.index == 0) {
            let mut queue = lock(queue);
            queue.advance(phase.connector.executor.now_ns());
            gauges.backlog = queue.backlog();
            gauges.backlog_max = queue.backlog_max();
            gauges.dropped = queue.dropped();
        }
        gauges
    }

    fn tell_closed<W: Workload>(&self, phase: &Phase<'_, W>) {
        if !phase.recorder.borrow().has_closed() {
            return;
        }
        let gauges = self.gauges(phase);
        for (ended_ns, tally) in phase.recorder.borrow_mut().take_closed() {
            let _ = self.tell.send(Message::Interval {
                worker: self.index,
                ended_ns,
                tally,
                gauges,
            });
        }
    }

    fn finish<W: Workload>(&self, phase: &Phase<'_, W>, start: &StartPhase, before: Usage) {
        let now_ns = phase.connector.executor.now_ns();
        // A phase that was to last some time ends then or with its last transaction; others end with the latter.
        let planned_ns = if start.phase.time_s > 0.0 && start.phase.events == 0 {
            phase.end_ns
        } else {
            0
        };
        let ended_ns = if self.shared.stop.is_raised() {
            now_ns
        } else {
            phase.done_ns_last.get().max(planned_ns)
        };
        phase.recorder.borrow_mut().finish(ended_ns);
        self.tell_closed(phase);
        let usage = Usage::of_this_thread().since(before);
        let _ = self.tell.send(Message::PhaseEnd {
            worker: self.index,
            usage,
        });
    }
}

async fn connect_slot<W: Workload, C: Wire>(
    connector: &Connector<'_>,
    slot: &mut Slot<W, C>,
    first_error: &RefCell<Option<ErrorEvent>>,
) {
    match connector.connect().await {
        Ok(wire) => slot.wire = Some(wire),
        Err(error) => {
            let threads = connector.plan.threads;
            first_error
                .borrow_mut()
                .get_or_insert_with(|| failure::first_connect(&error, threads));
        }
    }
}
