//! One connection's life in a phase: take the next transaction, run it to a good or bad end, count it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dyno_core::event::ErrorEvent;
use dyno_core::plan::Plan;
use dyno_core::recorder::{Ending, Moments, Recorder};
use dyno_core::rng::Rng;
use dyno_core::schedule::{ArrivalQueue, Closed};
use dyno_core::session::{Failure, ServerError, Statement};
use dyno_core::workload::{Outcome, Workload};
use dyno_wire::{ConnectError, Runtime as _, Wire, error_class};

use crate::executor::Executor;
use crate::failure;
use crate::stop::{Reason, Stop};

/// A connection attempt that takes longer has failed.
const CONNECT_NS_MAX: u64 = 10_000_000_000;
const RETRY_NS_FIRST: u64 = 500_000;
const RETRY_NS_MAX: u64 = 100_000_000;
const RECONNECT_NS_FIRST: u64 = 20_000_000;
const RECONNECT_NS_MAX: u64 = 2_000_000_000;

/// Locks; nothing of ours panics while it holds a lock, and if it did, the data would still be what we want.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What stays of a connection between phases.
pub struct Slot<W: Workload, C> {
    pub client: W::Client,
    pub wire: Option<C>,
    /// For the jitter of backoff only: retries must not change what is drawn.
    pub rng: Rng,
}

/// What all connections of a worker need to connect.
pub struct Connector<'a> {
    pub plan: &'a Plan,
    pub statements: Rc<[Statement]>,
    /// What each connection runs once, before its first transaction.
    pub session: Rc<[String]>,
    pub executor: Rc<Executor>,
    pub stop: &'a Arc<Stop>,
}

impl Connector<'_> {
    pub async fn connect<C: Wire>(&self) -> Result<C, ConnectError> {
        let executor = &self.executor;
        let attempt = async {
            let mut wire = C::connect(&self.plan.target, self.statements.clone(), executor.clone()).await?;
            for sql in self.session.iter() {
                wire.simple(sql).await.map_err(refused_setting)?;
            }
            wire.take_statement_counts();
            if self.plan.pipeline {
                wire.pipeline();
            }
            Ok(wire)
        };
        executor
            .within(executor.now_ns() + CONNECT_NS_MAX, attempt)
            .await
            .unwrap_or_else(|| {
                let message = format!(
                    "{:?} did not answer within {} s",
                    self.plan.target,
                    CONNECT_NS_MAX / 1_000_000_000
                );
                let error = ServerError {
                    message,
                    hint: "Is the server overloaded or stopped?".into(),
                    ..Default::default()
                };
                Err(ConnectError {
                    class: "connect",
                    error,
                    transient: true,
                })
            })
    }

    /// Waits before attempt `attempt` (0 is the first): exponential, bounded, with jitter. Ends early on a stop.
    async fn back_off(&self, rng: &mut Rng, attempt: u32, first_ns: u64, ns_max: u64) {
        let bound_ns = (first_ns << attempt.min(20)).min(ns_max);
        let wait_ns = bound_ns / 2 + (rng.unit() * bound_ns as f64 / 2.0) as u64;
        self.executor
            .sleep_until(self.executor.now_ns() + wait_ns, || self.stop.is_raised())
            .await;
    }
}

/// A connection that cannot be set up as the workload needs it.
fn refused_setting(failure: Failure) -> ConnectError {
    let (error, transient) = match failure {
        Failure::Lost(message) => {
            let error = ServerError {
                message,
                ..Default::default()
            };
            (error, true)
        }
        Failure::Retry(error) | Failure::Fatal(error) => (error, false),
    };
    ConnectError {
        class: "sql",
        error,
        transient,
    }
}

/// One phase as the connections of one worker share it.
pub struct Phase<'a, W: Workload> {
    pub connector: &'a Connector<'a>,
    pub workload: &'a W,
    pub recorder: RefCell<Recorder>,
    /// Open loop only: one queue for all workers.
    pub queue: Option<Arc<Mutex<ArrivalQueue>>>,
    pub start_ns: u64,
    pub end_ns: u64,
    /// Closed loop: transactions that may still start.
    pub events_left: Cell<u64>,
    pub in_flight: Cell<u64>,
    pub done_ns_last: Cell<u64>,
    pub error: RefCell<Option<ErrorEvent>>,
}

impl<W: Workload> Phase<'_, W> {
    fn stopped(&self) -> bool {
        self.connector.stop.is_raised()
    }

    fn now_ns(&self) -> u64 {
        self.connector.executor.now_ns()
    }

    fn fail(&self, error: ErrorEvent) {
        self.error.borrow_mut().get_or_insert(error);
        self.connector.stop.raise(Reason::Failure);
    }

    /// Runs one connection until the phase ends.
    pub async fn connection<C: Wire>(&self, slot: &mut Slot<W, C>) {
        match &self.queue {
            None => self.closed(slot).await,
            Some(queue) => self.open(slot, queue).await,
        }
    }

    async fn closed<C: Wire>(&self, slot: &mut Slot<W, C>) {
        let mut schedule = Closed::new(self.start_ns);
        while !self.stopped() && schedule.intended_ns() < self.end_ns && self.events_left.get() > 0 {
            self.events_left.set(self.events_left.get() - 1);
            match self.transaction(slot, schedule.intended_ns()).await {
                Some(done_ns) => schedule.done(done_ns),
                None => return,
            }
        }
    }

    async fn open<C: Wire>(&self, slot: &mut Slot<W, C>, queue: &Mutex<ArrivalQueue>) {
        loop {
            let now_ns = self.now_ns();
            if self.stopped() || now_ns >= self.end_ns {
                return;
            }
            let Some(intended_ns) = lock(queue).claim(now_ns) else {
                return;
            };
            if intended_ns > now_ns {
                self.connector
                    .executor
                    .sleep_until(intended_ns, || self.stopped())
                    .await;
                if self.stopped() {
                    return;
                }
            }
            if self.transaction(slot, intended_ns).await.is_none() {
                return;
            }
        }
    }

    /// Runs one transaction, with its retries; returns when it was done, `None` when the connection is to end.
    #[inline]
    async fn transaction<C: Wire>(&self, slot: &mut Slot<W, C>, intended_ns: u64) -> Option<u64> {
        let input = self.workload.draw(&mut slot.client);
        let kind = self.workload.kind(&input);
        let mut sent_ns = None;
        let mut attempt = 0;
        self.in_flight.set(self.in_flight.get() + 1);
        let ending = loop {
            let Some(wire) = slot.wire.as_mut() else {
                if !self.reconnect(slot).await {
                    break None;
                }
                continue;
            };
            wire.start_transaction();
            let result = self.workload.run(&input, wire).await;
            sent_ns = sent_ns.or(wire.first_sent_ns());
            match result {
                Ok(Outcome::Committed) => break Some(Ending::Committed),
                Ok(Outcome::RolledBack) => break Some(Ending::RolledBack),
                Err(failure) => match self.failed(slot, kind, attempt, failure).await {
                    Next::Repeat => attempt += 1,
                    Next::GiveUp => break Some(Ending::GivenUp),
                    Next::End => break None,
                },
            }
        };
        let done_ns = self.now_ns();
        let closed = self.count(
            slot,
            kind,
            Moments {
                intended_ns,
                sent_ns: sent_ns.unwrap_or(done_ns),
                done_ns,
            },
            ending,
        );
        if ending.is_none() {
            self.in_flight.set(self.in_flight.get() - 1);
            return None;
        }
        self.done_ns_last.set(done_ns);
        if closed {
            // A connection that blocks its thread must let the worker tell of the interval.
            self.connector.executor.pause().await;
        }
        // Only now: it was under way when the interval ended.
        self.in_flight.set(self.in_flight.get() - 1);
        Some(done_ns)
    }

    /// Counts a transaction and its statements; true when that closed an interval.
    #[inline]
    fn count<C: Wire>(&self, slot: &mut Slot<W, C>, kind: usize, moments: Moments, ending: Option<Ending>) -> bool {
        let mut recorder = self.recorder.borrow_mut();
        recorder.advance(moments.done_ns);
        if let Some(wire) = slot.wire.as_mut() {
            recorder.statements(wire.take_statement_counts());
        }
        if let Some(ending) = ending {
            recorder.record(kind, moments, ending);
        }
        recorder.has_closed()
    }

    #[cold]
    async fn failed<C: Wire>(&self, slot: &mut Slot<W, C>, kind: usize, attempt: u32, failed: Failure) -> Next {
        let class = match &failed {
            Failure::Retry(error) => error_class(&error.code),
            Failure::Lost(_) => "lost",
            Failure::Fatal(error) if W::repeats_after(error_class(&error.code)) => error_class(&error.code),
            Failure::Fatal(error) => {
                self.fail(failure::server(error));
                return Next::End;
            }
        };
        let repeated = attempt < self.connector.plan.retries_max && !self.stopped();
        self.recorder.borrow_mut().advance(self.now_ns());
        self.recorder.borrow_mut().failure(kind, class, repeated);
        if class == "lost" {
            slot.wire = None;
        } else if let Some(wire) = slot.wire.as_mut().filter(|wire| wire.in_transaction()) {
            if wire.rollback().await.is_err() {
                slot.wire = None;
            }
        }
        if !repeated {
            return if self.stopped() { Next::End } else { Next::GiveUp };
        }
        if class != "lost" {
            self.connector
                .back_off(&mut slot.rng, attempt, RETRY_NS_FIRST, RETRY_NS_MAX)
                .await;
        }
        Next::Repeat
    }

    /// Opens the connection anew; false when the phase is to end.
    #[cold]
    async fn reconnect<C: Wire>(&self, slot: &mut Slot<W, C>) -> bool {
        let attempts_max = self.connector.plan.reconnects_max;
        for attempt in 0.. {
            if self.stopped() {
                return false;
            }
            match self.connector.connect().await {
                Ok(wire) => {
                    slot.wire = Some(wire);
                    self.recorder.borrow_mut().advance(self.now_ns());
                    self.recorder.borrow_mut().reconnected();
                    return true;
                }
                Err(error) if error.transient && attempt + 1 < attempts_max => {
                    self.connector
                        .back_off(&mut slot.rng, attempt, RECONNECT_NS_FIRST, RECONNECT_NS_MAX)
                        .await;
                }
                Err(error) => {
                    let mut event = failure::connect(&error);
                    event.message = format!(
                        "a lost connection could not be opened anew in {} attempts: {}",
                        attempt + 1,
                        event.message
                    );
                    self.fail(event);
                    return false;
                }
            }
        }
        false
    }
}

enum Next {
    Repeat,
    GiveUp,
    End,
}
