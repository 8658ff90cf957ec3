//! `dyno-driver`: reads one plan from standard input, writes events to standard output. The contract is
//! `docs/reference/driver-protocol.md`. Only this file makes the real clock and reads the real input.

mod client;
mod executor;
mod failure;
mod load;
mod marker;
mod output;
mod run;
mod scheduling;
mod settings;
mod single;
mod stop;
mod ticker;
mod usage;
mod verbs;
mod worker;

use std::io::{self, Read as _, Write as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use dyno_core::clock::SystemClock;
use dyno_core::event::{ErrorEvent, Event, Hello, Status};
use dyno_core::plan::{PROTOCOL, Plan, Verb};
use dyno_core::workload::Workload;
use dyno_wire::{Wire, WireVisitor};
use dyno_workloads::{Entry, Visitor};

use crate::output::Output;
use crate::stop::{Reason, Stop};
use crate::worker::Shared;

const USAGE: &str = "usage: dyno-driver < plan.json   (docs/reference/driver-protocol.md)\n       dyno-driver list\n";
/// Longest plan.
const PLAN_BYTES_MAX: u64 = 16 * 1024 * 1024;

fn main() -> ExitCode {
    let origin = Instant::now();
    let origin_ns = monotonic_ns();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => drive(SystemClock::new(origin), origin_ns),
        ["list"] => finish_text(&settings::list()),
        ["--version"] => finish_text(concat!("dyno-driver ", env!("CARGO_PKG_VERSION"))),
        ["--help"] => finish_text(USAGE),
        other => {
            // Nothing is left to do when standard error is closed.
            let _ = write!(io::stderr(), "dyno-driver: unknown arguments {other:?}\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn finish_text(text: &str) -> ExitCode {
    match writeln!(io::stdout(), "{text}") {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::from(2),
    }
}

fn monotonic_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure lives through the call; CLOCK_MONOTONIC always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn drive(clock: SystemClock, origin_ns: u64) -> ExitCode {
    let stop = match Stop::new() {
        Ok(stop) => Arc::new(stop),
        Err(error) => {
            let _ = writeln!(io::stderr(), "dyno-driver: no eventfd: {error}");
            return ExitCode::from(2);
        }
    };
    let mut output = Output::new(Box::new(io::stdout()), clock, stop.clone());
    let unix = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0.0, |time| time.as_secs_f64());
    let age_s = (monotonic_ns() - origin_ns) as f64 / 1e9;
    output.emit(&Event::Hello(Hello {
        protocol: PROTOCOL,
        version: env!("CARGO_PKG_VERSION"),
        pid: std::process::id(),
        started_unix_s: unix - age_s,
        started_monotonic_s: origin_ns as f64 / 1e9,
    }));
    let result = stop::on_signals(stop.clone())
        .map_err(|error| failure::io("starting the signal thread", &error))
        .and_then(|()| read_plan())
        .and_then(|plan| execute(plan, clock, origin_ns, stop.clone(), &mut output));
    end(result, &stop, &mut output)
}

/// Writes the last events and chooses the exit status.
fn end(result: Result<bool, ErrorEvent>, stop: &Stop, output: &mut Output) -> ExitCode {
    let (status, code) = match (result, stop.reason()) {
        (Err(error), _) => {
            let hint = if error.hint.is_empty() {
                String::new()
            } else {
                format!(" {}", error.hint)
            };
            let _ = writeln!(io::stderr(), "dyno-driver: {}: {}{hint}", error.class, error.message);
            output.emit(&Event::Error(error));
            (Status::Failed, 2)
        }
        (Ok(_), Some(Reason::Unheard)) => return ExitCode::from(2),
        (Ok(_), Some(_)) => (Status::Interrupted, 130),
        (Ok(true), None) => (Status::Done, 0),
        (Ok(false), None) => (Status::Failed, 1),
    };
    output.emit(&Event::Bye { status });
    ExitCode::from(code)
}

fn read_plan() -> Result<Plan, ErrorEvent> {
    let mut text = String::new();
    io::stdin()
        .take(PLAN_BYTES_MAX)
        .read_to_string(&mut text)
        .map_err(|error| failure::io("reading the plan from standard input", &error))?;
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
    Plan::parse(&text, cores).map_err(|message| failure::own("plan", message, "See docs/reference/driver-protocol.md."))
}

fn execute(
    mut plan: Plan,
    clock: SystemClock,
    origin_ns: u64,
    stop: Arc<Stop>,
    output: &mut Output,
) -> Result<bool, ErrorEvent> {
    let plan_error = |message: String| failure::own("plan", message, "`dyno-driver list` shows what there is.");
    let dialect = dyno_wire::dialect(&plan.target.dialect).map_err(plan_error)?;
    if dialect.inside {
        if plan.verb != Verb::Run {
            return Err(plan_error(format!(
                "the dialect {:?} has no dataset; its only verb is run",
                dialect.name
            )));
        }
        plan.target.host =
            dyno_wire::null::start(plan.null_server).map_err(|error| failure::io("null server", &error))?;
        plan.adopt = true;
    }
    let settings = settings::of(&plan).map_err(plan_error)?;
    let name = plan.workload.name.clone();
    let shared = Shared {
        plan: Arc::new(plan),
        settings,
        stop,
        clock,
        origin_ns,
    };
    let visitor = ByWorkload {
        shared: &shared,
        dialect,
        output,
    };
    dyno_workloads::with(&name, visitor).unwrap_or_else(|| Err(plan_error(settings::unknown_workload(&name))))
}

struct ByWorkload<'a> {
    shared: &'a Shared,
    dialect: dyno_wire::Dialect,
    output: &'a mut Output,
}

impl Visitor for ByWorkload<'_> {
    type Output = Result<bool, ErrorEvent>;

    fn visit<W: Workload + 'static>(self, entry: &'static Entry) -> Self::Output {
        let ByWorkload {
            shared,
            dialect,
            output,
        } = self;
        dyno_wire::with(
            dialect,
            ByWire::<W> {
                shared,
                entry,
                output,
                workload: std::marker::PhantomData,
            },
        )
    }
}

struct ByWire<'a, W> {
    shared: &'a Shared,
    entry: &'static Entry,
    output: &'a mut Output,
    workload: std::marker::PhantomData<W>,
}

impl<W: Workload + 'static> WireVisitor for ByWire<'_, W> {
    type Output = Result<bool, ErrorEvent>;

    fn visit<C: Wire + 'static>(self) -> Self::Output {
        let ByWire {
            shared, entry, output, ..
        } = self;
        // A bad option is a plan error before any connection is opened.
        W::new(&shared.settings).map_err(|message| failure::own("plan", message, ""))?;
        match shared.plan.verb {
            Verb::Load => load::load::<W, C>(shared, entry, output).map(|()| true),
            Verb::Check => verbs::check::<W, C>(shared, entry, output),
            Verb::Cleanup => verbs::cleanup::<W, C>(shared, entry, output).map(|()| true),
            Verb::Run => {
                if !shared.plan.adopt {
                    verbs::verify::<W, C>(shared, entry)?;
                }
                run::run::<W, C>(shared, output).map(|()| true)
            }
        }
    }
}
