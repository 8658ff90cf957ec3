//! What a workload is: options, transactions, statements, a dataset that can be loaded in independent tasks, and
//! consistency checks. One folder in `workloads/` implements it; nothing else learns the workload's name.

use std::collections::BTreeMap;

use crate::session::{Failure, Session, Statement};

/// One option of a workload, as `dyno-driver list` shows it.
#[derive(Clone, Copy, Debug)]
pub struct OptionSpec {
    pub name: &'static str,
    /// Default in the form that a user would type.
    pub default: &'static str,
    pub help: &'static str,
}

/// Scale and options as the plan gave them; every option is present (defaults filled in, unknown names refused).
#[derive(Clone, Debug)]
pub struct Settings {
    pub scale: u32,
    pub options: BTreeMap<String, String>,
    /// Dialect of the target, which picks `schema/<dialect>.sql`.
    pub dialect: String,
    pub seed: u64,
}

/// How a transaction ended when it did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Committed,
    /// Rolled back because the specification wants it (1 % of New-Order).
    RolledBack,
}

/// A consistency condition: `sql` returns the rows that violate it, none when it holds.
#[derive(Clone, Debug)]
pub struct Check {
    /// Clause of the specification, or a short name.
    pub clause: String,
    pub title: String,
    pub sql: String,
}

/// One independent part of the dataset, loaded in one transaction together with its line in the marker table, so that
/// an interrupted load goes on where it stopped.
#[derive(Clone, Debug)]
pub struct LoadTask {
    /// Unique and stable: the marker table remembers it.
    pub name: String,
    /// Work in `Workload::load_unit` units, for the progress display.
    pub weight: u64,
}

/// SQL around the load.
#[derive(Clone, Debug, Default)]
pub struct Schema {
    /// Creates the tables (before the load).
    pub create: String,
    /// Primary keys, indexes, foreign keys, statistics (after the load); each entry is one step of the progress.
    pub finish: Vec<String>,
    /// Tables in an order in which they can be dropped.
    pub tables: Vec<String>,
}

/// A workload over one kind of dataset. `Client` is the state of one connection (random numbers, home warehouse);
/// `Input` is all that one transaction needs, drawn before it starts, so that a retry repeats the same transaction.
#[allow(async_fn_in_trait)] // The executor is single-threaded: futures need not be Send.
pub trait Workload: Sized {
    type Client;
    type Input;

    /// Builds the workload; a message that says what was got and what is allowed when a value is out of range.
    fn new(settings: &Settings) -> Result<Self, String>;

    /// Names of the transaction types; `Input`s refer to them by index.
    fn transaction_types(&self) -> &[&'static str];
    fn statements(&self) -> Vec<Statement>;
    /// SQL that each connection runs once, before its first transaction.
    fn session(&self) -> Vec<String> {
        Vec::new()
    }

    fn client(&self, connection: u32, connections: u32) -> Self::Client;
    /// Draws the next transaction.
    fn draw(&self, client: &mut Self::Client) -> Self::Input;
    /// Index in `transaction_types`.
    fn kind(&self, input: &Self::Input) -> usize;
    /// Runs it, begin and commit included. On failure the driver rolls back.
    async fn run<S: Session>(&self, input: &Self::Input, session: &mut S) -> Result<Outcome, Failure>;

    /// Names of the options that shape the dataset: run and load must agree on them and may differ in the others.
    /// `None`: on all.
    fn dataset_options() -> Option<&'static [&'static str]> {
        None
    }
    /// A failure of this class (`duplicate_key`, `sql` …) is part of the workload: the transaction is rolled back,
    /// counted and repeated, as after a deadlock. By default it ends the run.
    fn repeats_after(_class: &str) -> bool {
        false
    }
    fn schema(&self) -> Schema;
    fn load_unit(&self) -> &'static str;
    fn load_tasks(&self) -> Vec<LoadTask>;
    /// Loads one task; the driver has begun the transaction and commits it.
    async fn load<S: Session>(&self, task: &LoadTask, session: &mut S) -> Result<(), Failure>;

    fn checks(&self) -> Vec<Check>;
    /// Figures of the workload's own for the summary, from counts by transaction type over `seconds`. A count includes
    /// the transactions that the specification rolled back; `rolled_back` has these apart.
    fn figures(&self, _counts: &[u64], _rolled_back: &[u64], _seconds: f64) -> BTreeMap<String, f64> {
        BTreeMap::new()
    }
}
