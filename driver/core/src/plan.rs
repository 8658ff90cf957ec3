//! The plan: what standard input says. Everything that can be validated without a server is validated here.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::schedule::ARRIVALS;

/// Version of the plan and of the events.
pub const PROTOCOL: u32 = 1;
/// Most connections of one driver: each costs memory here and a process or thread there.
pub const THREADS_MAX: u32 = 10_000;

/// One plan; see `docs/reference/driver-protocol.md` for the fields.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    pub protocol: u32,
    pub verb: Verb,
    pub target: Target,
    pub workload: WorkloadPlan,
    #[serde(default = "one")]
    pub threads: u32,
    /// Worker threads; 0: one for each of the machine's cores, at most one for each connection.
    #[serde(default)]
    pub workers: u32,
    /// Send BEGIN with the first statement and COMMIT with the last one.
    #[serde(default)]
    pub pipeline: bool,
    #[serde(default)]
    pub seed: u64,
    #[serde(default = "one_second")]
    pub interval_s: f64,
    #[serde(default)]
    pub phases: Vec<Phase>,
    #[serde(default = "ten")]
    pub retries_max: u32,
    #[serde(default = "thirty")]
    pub reconnects_max: u32,
    /// Most arrivals of an open loop that wait in its queue.
    #[serde(default = "million")]
    pub backlog_max: u64,
    /// How long transactions under way may take to end after their phase.
    #[serde(default = "two_minutes")]
    pub drain_s: f64,
    /// Load anew although another load is there or was interrupted.
    #[serde(default)]
    pub restart: bool,
    /// Run on a dataset without our marker.
    #[serde(default)]
    pub adopt: bool,
    #[serde(default)]
    pub null_server: NullServer,
}

fn one() -> u32 {
    1
}
fn one_second() -> f64 {
    1.0
}
fn ten() -> u32 {
    10
}
fn thirty() -> u32 {
    30
}
fn million() -> u64 {
    1_000_000
}
fn two_minutes() -> f64 {
    120.0
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verb {
    Load,
    Run,
    Check,
    Cleanup,
}

/// Where the server is. The password is never written to an event.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    pub dialect: String,
    #[serde(default)]
    pub host: String,
    #[serde(default)]
    pub port: u16,
    #[serde(default)]
    pub user: String,
    #[serde(default)]
    pub password: Option<String>,
    #[serde(default)]
    pub database: String,
    /// Of no meaning on a Unix socket.
    #[serde(default)]
    pub tls: Tls,
    /// File of the authorities that may sign the server's certificate; empty: those of the system.
    #[serde(default)]
    pub tls_ca: String,
}

/// Whether connections are encrypted and how the server is checked, from the weakest to the strictest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tls {
    #[default]
    #[serde(alias = "")]
    Disable,
    /// Encrypted where the server can.
    Prefer,
    /// Encrypted, whoever the server is.
    Require,
    /// Its certificate is signed by an authority that we trust.
    VerifyCa,
    /// And is for the host that the target names.
    VerifyFull,
}

impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{}://{}@{}:{}/{}",
            self.dialect, self.user, self.host, self.port, self.database
        )
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkloadPlan {
    pub name: String,
    #[serde(default = "one")]
    pub scale: u32,
    #[serde(default)]
    pub options: BTreeMap<String, serde_json::Value>,
}

/// One phase of a run.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    pub name: String,
    #[serde(default)]
    pub mode: Mode,
    #[serde(default)]
    pub time_s: f64,
    #[serde(default)]
    pub events: u64,
    #[serde(default)]
    pub rate_per_s: f64,
    #[serde(default = "poisson")]
    pub arrivals: String,
    #[serde(default = "yes")]
    pub measured: bool,
}

fn poisson() -> String {
    ARRIVALS[0].to_string()
}
fn yes() -> bool {
    true
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    #[default]
    Closed,
    Open,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NullServer {
    #[serde(default)]
    pub service_us: u64,
    /// Seconds after the server's start; null: no stall.
    #[serde(default)]
    pub stall_at_s: Option<f64>,
    #[serde(default)]
    pub stall_s: f64,
}

impl Plan {
    /// Reads and validates a plan for a machine with so many `cores`. The message names the field, what was found and what is allowed.
    pub fn parse(text: &str, cores: u32) -> Result<Plan, String> {
        let mut plan: Plan = serde_json::from_str(text).map_err(|error| {
            format!("the plan on standard input is not what docs/reference/driver-protocol.md describes: {error}")
        })?;
        if plan.workers == 0 {
            plan.workers = plan.threads.min(cores.max(1));
        }
        plan.validate()?;
        Ok(plan)
    }

    fn validate(&self) -> Result<(), String> {
        let ensure = |holds: bool, message: String| if holds { Ok(()) } else { Err(message) };
        ensure(
            self.protocol == PROTOCOL,
            format!(
                "protocol: this driver speaks {PROTOCOL}, the plan asks for {}; use a matching pair",
                self.protocol
            ),
        )?;
        ensure(
            (1..=THREADS_MAX).contains(&self.threads),
            format!(
                "threads: 1 to {THREADS_MAX} connections are possible, got {}",
                self.threads
            ),
        )?;
        ensure(
            (1..=self.threads).contains(&self.workers),
            format!(
                "workers: 1 to threads ({}) are possible, got {}",
                self.threads, self.workers
            ),
        )?;
        ensure(
            self.interval_s >= 0.01 && self.interval_s <= 86_400.0,
            format!("interval_s: 0.01 to 86400 is possible, got {}", self.interval_s),
        )?;
        ensure(
            self.drain_s >= 0.0 && self.drain_s <= 86_400.0,
            format!("drain_s: 0 to 86400 is possible, got {}", self.drain_s),
        )?;
        ensure(
            self.workload.scale >= 1,
            "workload.scale: at least 1 is needed, got 0".to_string(),
        )?;
        if self.verb == Verb::Run {
            ensure(
                !self.phases.is_empty(),
                "phases: a run needs at least one phase, got none".to_string(),
            )?;
            self.phases.iter().try_for_each(Phase::validate)?;
        }
        Ok(())
    }
}

impl Phase {
    fn validate(&self) -> Result<(), String> {
        let name = &self.name;
        if !(0.0..=31_536_000.0).contains(&self.time_s) {
            return Err(format!(
                "phase {name:?}: time_s from 0 to 31536000 is possible, got {}",
                self.time_s
            ));
        }
        if self.mode == Mode::Open && !(self.rate_per_s > 0.0 && self.rate_per_s <= 1e8) {
            return Err(format!(
                "phase {name:?}: an open loop needs rate_per_s above 0 and at most 1e8, got {}",
                self.rate_per_s
            ));
        }
        if !ARRIVALS.contains(&self.arrivals.as_str()) {
            return Err(format!(
                "phase {name:?}: arrivals must be one of {ARRIVALS:?}, got {:?}",
                self.arrivals
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(change: &str) -> Result<Plan, String> {
        let text = format!(
            r#"{{"protocol": 1, "verb": "run", "target": {{"dialect": "null"}}, "workload": {{"name": "x"}},
                "phases": [{{"name": "measure", "time_s": 1}}] {change}}}"#
        );
        Plan::parse(&text, 2)
    }

    #[test]
    fn defaults_are_those_of_the_reference() {
        let plan = plan("").unwrap();
        assert_eq!((plan.threads, plan.retries_max, plan.reconnects_max), (1, 10, 30));
        assert_eq!(plan.phases[0].mode, Mode::Closed);
        assert!(plan.phases[0].measured);
    }

    #[test]
    fn encryption_is_off_unless_asked_for() {
        let of = |words: &str| serde_json::from_str::<Target>(&format!(r#"{{"dialect": "null"{words}}}"#));
        assert_eq!(of("").unwrap().tls, Tls::Disable);
        assert_eq!(of(r#", "tls": """#).unwrap().tls, Tls::Disable);
        assert_eq!(
            of(r#", "tls": "verify-full", "tls_ca": "/ca.pem""#).unwrap().tls,
            Tls::VerifyFull
        );
        let message = of(r#", "tls": "on""#).unwrap_err().to_string();
        assert!(message.contains("`verify-full`"), "{message}");
    }

    #[test]
    fn mistakes_are_explained() {
        let cases = [
            (
                r#", "threads": 0"#,
                "threads: 1 to 10000 connections are possible, got 0",
            ),
            (r#", "workers": 2"#, "workers: 1 to threads (1) are possible, got 2"),
            (r#", "interval_s": 0"#, "interval_s: 0.01 to 86400 is possible, got 0"),
        ];
        for (change, message) in cases {
            assert_eq!(plan(change).unwrap_err(), message);
        }
        assert!(plan(r#", "thread": 3"#).unwrap_err().contains("unknown field `thread`"));
    }
}
