//! The events that the driver writes, one JSON object a line; see `docs/reference/driver-protocol.md`.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::histogram::TimesSummary;
use crate::plan::Phase;
use crate::recorder::Tally;

/// One event. The writer adds `t_s`.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum Event {
    Hello(Hello),
    Phase(PhaseEvent),
    Progress(Progress),
    Interval(Box<Interval>),
    Check(CheckEvent),
    Summary(Box<Summary>),
    Error(ErrorEvent),
    Bye { status: Status },
}

#[derive(Debug, Serialize)]
pub struct Hello {
    pub protocol: u32,
    pub version: &'static str,
    pub pid: u32,
    pub started_unix_s: f64,
    pub started_monotonic_s: f64,
}

#[derive(Debug, Serialize)]
pub struct PhaseEvent {
    pub phase: String,
    pub state: &'static str,
    pub measured: bool,
    /// Threads of the driver.
    pub workers: u32,
    /// BEGIN and COMMIT were sent together with statements.
    pub pipeline: bool,
    pub plan: Phase,
}

#[derive(Debug, Serialize)]
pub struct Progress {
    pub step: String,
    pub done: u64,
    pub total: u64,
    pub unit: String,
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct TypeCounts {
    pub count: u64,
    pub errors: BTreeMap<&'static str, u64>,
    pub retries: u64,
    pub rollbacks: u64,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub struct Statements {
    pub read: u64,
    pub write: u64,
    pub other: u64,
}

/// What happened over a span: an interval or a whole phase.
#[derive(Debug, Serialize)]
pub struct Interval {
    pub phase: String,
    pub seconds: f64,
    pub threads: u32,
    pub transactions: BTreeMap<&'static str, TypeCounts>,
    pub statements: Statements,
    pub reconnects: u64,
    pub response: TimesSummary,
    pub service: TimesSummary,
    pub lag_us_max: f64,
    pub in_flight: u64,
    pub backlog: u64,
    pub backlog_max: u64,
    pub dropped: u64,
}

/// State of the connections and of the open loop's queue at the end of a span.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gauges {
    pub in_flight: u64,
    pub backlog: u64,
    pub backlog_max: u64,
    pub dropped: u64,
}

impl Interval {
    /// Builds the event from a tally over `seconds`.
    pub fn new(
        phase: &str,
        seconds: f64,
        threads: u32,
        names: &[&'static str],
        tally: &Tally,
        gauges: Gauges,
    ) -> Interval {
        let (response, service) = tally.times();
        let counts = |index: usize| {
            let one = &tally.types[index];
            TypeCounts {
                count: one.count,
                errors: one.errors.clone(),
                retries: one.retries,
                rollbacks: one.rollbacks,
            }
        };
        Interval {
            phase: phase.to_string(),
            seconds,
            threads,
            transactions: names
                .iter()
                .enumerate()
                .map(|(index, name)| (*name, counts(index)))
                .collect(),
            statements: Statements {
                read: tally.statements[0],
                write: tally.statements[1],
                other: tally.statements[2],
            },
            reconnects: tally.reconnects,
            response: response.summary(),
            service: service.summary(),
            lag_us_max: tally.lag_ns_max as f64 / 1e3,
            in_flight: gauges.in_flight,
            backlog: gauges.backlog,
            backlog_max: gauges.backlog_max,
            dropped: gauges.dropped,
        }
    }
}

#[derive(Debug, Serialize)]
pub struct TypeTimes {
    pub response: TimesSummary,
    pub service: TimesSummary,
}

#[derive(Debug, Serialize)]
pub struct Summary {
    #[serde(flatten)]
    pub interval: Interval,
    pub started_t_s: f64,
    pub by_type: BTreeMap<&'static str, TypeTimes>,
    pub workload: BTreeMap<String, f64>,
    pub cpu_user_us: u64,
    pub cpu_system_us: u64,
    pub interrupted: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Pass,
    Fail,
    Unknown,
}

#[derive(Debug, Serialize)]
pub struct CheckEvent {
    pub clause: String,
    pub title: String,
    pub verdict: Verdict,
    pub says: String,
    pub violations: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct ErrorEvent {
    pub class: &'static str,
    pub code: String,
    pub message: String,
    pub hint: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    Done,
    Failed,
    Interrupted,
}
