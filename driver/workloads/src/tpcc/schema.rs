//! The tables and the steps after the load, from the sections of the dialect's SQL file.

use super::options::{Isolation, Options};
use crate::schemas::SqlFile;
use dyno_core::workload::Schema;

/// The tables of a set, in an order in which they can be dropped with foreign keys between them.
const TABLES: [&str; 9] = [
    "history",
    "new_orders",
    "order_line",
    "orders",
    "customer",
    "district",
    "stock",
    "item",
    "warehouse",
];

/// Begins a transaction at an isolation level.
pub fn begin(file: SqlFile, isolation: Isolation) -> String {
    let section = match isolation {
        Isolation::ReadCommitted => "begin_rc",
        Isolation::RepeatableRead => "begin_rr",
        Isolation::Serializable => "begin_ser",
    };
    file.section(section, &[]).join("; ")
}

/// Everything of one kind is done for all sets before the next kind begins.
pub fn schema(file: SqlFile, options: &Options) -> Schema {
    let suffixes = options.suffixes();
    let of_sets = |section: &str| -> Vec<String> {
        suffixes
            .iter()
            .flat_map(|suffix| file.section(section, &[("n", suffix.clone())]))
            .collect()
    };
    let mut finish = of_sets("indexes");
    if options.foreign_keys {
        finish.extend(of_sets("foreign_keys"));
    }
    finish.extend(of_sets("statistics"));
    let tables = suffixes
        .iter()
        .flat_map(|suffix| TABLES.iter().map(move |table| format!("{table}{suffix}")))
        .collect();
    Schema {
        create: of_sets("create").join(";\n"),
        finish,
        tables,
    }
}
