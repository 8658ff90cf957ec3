//! Workloads, one folder each. To add one: a `mod` line and a line in the table at the end of this file.

use dyno_core::workload::{OptionSpec, Workload};

mod heavy_update;
mod ledger;
mod oltp;
mod secondary_scan;
mod tpcb;
mod tpcc;

mod schemas;

/// What the registry knows of a workload.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Name in the plan.
    pub name: &'static str,
    /// Workloads with the same dataset run on one load; the marker table holds this name.
    pub dataset: &'static str,
    pub options: &'static [OptionSpec],
    pub about: &'static str,
}

/// Something generic over the type of a workload: `with` calls it for a workload's name.
pub trait Visitor {
    type Output;
    fn visit<W: Workload + 'static>(self, entry: &'static Entry) -> Self::Output;
}

macro_rules! registry {
    ($(($name:literal, $dataset:literal, $workload:ty, $options:expr, $about:literal)),* $(,)?) => {
        /// All workloads.
        pub const ENTRIES: &[Entry] = &[$(
            Entry { name: $name, dataset: $dataset, options: $options, about: $about }
        ),*];

        /// Calls `visitor` with the type of the workload `name`; `None` when there is none of that name.
        pub fn with<V: Visitor>(name: &str, visitor: V) -> Option<V::Output> {
            let entry = ENTRIES.iter().find(|entry| entry.name == name)?;
            match name {
                $($name => Some(visitor.visit::<$workload>(entry)),)*
                _ => None,
            }
        }
    };
}

registry![
    (
        "heavy_update",
        "stress",
        heavy_update::HeavyUpdate,
        heavy_update::OPTIONS,
        "small writes on a hot history table, as db_STRESS makes them"
    ),
    (
        "ledger",
        "ledger",
        ledger::Ledger,
        ledger::OPTIONS,
        "ledger whose every row can be foretold, for the power-loss proof"
    ),
    (
        "oltp_point_select",
        "sbtest",
        oltp::PointSelect,
        oltp::OPTIONS,
        "sysbench: one row by its key"
    ),
    (
        "oltp_read_only",
        "sbtest",
        oltp::ReadOnly,
        oltp::OPTIONS,
        "sysbench: 10 point and 4 range queries"
    ),
    (
        "oltp_read_write",
        "sbtest",
        oltp::ReadWrite,
        oltp::OPTIONS,
        "sysbench: read_only and write_only in one"
    ),
    (
        "oltp_write_only",
        "sbtest",
        oltp::WriteOnly,
        oltp::OPTIONS,
        "sysbench: 2 updates, delete and insert"
    ),
    (
        "oltp_update_index",
        "sbtest",
        oltp::UpdateIndex,
        oltp::OPTIONS,
        "sysbench: update of an indexed column"
    ),
    (
        "oltp_update_non_index",
        "sbtest",
        oltp::UpdateNonIndex,
        oltp::OPTIONS,
        "sysbench: update of a plain column"
    ),
    (
        "oltp_insert",
        "sbtest",
        oltp::Insert,
        oltp::OPTIONS,
        "sysbench: insert of one row"
    ),
    (
        "oltp_delete",
        "sbtest",
        oltp::Delete,
        oltp::OPTIONS,
        "sysbench: delete by key"
    ),
    (
        "secondary_scan",
        "trades",
        secondary_scan::SecondaryScan,
        secondary_scan::OPTIONS,
        "brokerage: range scans by secondary index beside few writes, TPC-E-like"
    ),
    (
        "tpcb",
        "pgbench",
        tpcb::Tpcb,
        tpcb::OPTIONS,
        "pgbench: its default, TPC-B-like transaction"
    ),
    (
        "tpcc",
        "tpcc",
        tpcc::Tpcc,
        tpcc::OPTIONS,
        "TPC-C-like, no-wait: nine tables, five transactions"
    ),
];
