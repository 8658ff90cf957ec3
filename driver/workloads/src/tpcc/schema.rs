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

fn of_level(file: SqlFile, what: &str, isolation: Isolation) -> Vec<String> {
    let level = match isolation {
        Isolation::ReadCommitted => "rc",
        Isolation::RepeatableRead => "rr",
        Isolation::Serializable => "ser",
    };
    file.section(&format!("{what}_{level}"), &[])
}

/// Begins a transaction at an isolation level.
pub fn begin(file: SqlFile, isolation: Isolation) -> String {
    of_level(file, "begin", isolation).join("; ")
}

/// What a connection runs once, where the dialect has levels of connections.
pub fn session(file: SqlFile, isolation: Isolation) -> Vec<String> {
    of_level(file, "session", isolation)
}

/// Refuses foreign keys where the storage engine has none, before hours of loading.
pub fn refuse_foreign_keys(file: SqlFile, storage_engine: &str) -> Result<(), String> {
    let without = file.section("no_foreign_keys", &[]);
    if without.iter().any(|name| name.eq_ignore_ascii_case(storage_engine)) {
        return Err(format!(
            "tpcc: option foreign_keys must be off, because the storage engine {storage_engine} has none"
        ));
    }
    Ok(())
}

/// Everything of one kind is done for all sets before the next kind begins.
pub fn schema(file: SqlFile, options: &Options, storage_engine: &str) -> Schema {
    let suffixes = options.suffixes();
    let of_sets = |section: &str| -> Vec<String> {
        suffixes
            .iter()
            .flat_map(|suffix| {
                let values = [("n", suffix.clone()), ("storage_engine", storage_engine.to_owned())];
                file.section(section, &values)
            })
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
