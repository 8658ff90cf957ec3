//! Options of the sysbench family, with sysbench's names and defaults (oltp_common.lua, sysbench 1.0.20).

use dyno_core::distribution::{self, Keys};
use dyno_core::workload::{OptionSpec, Settings};

use crate::schemas::STORAGE_ENGINE;

const COMMON: [OptionSpec; 14] = [
    STORAGE_ENGINE,
    OptionSpec {
        name: "tables",
        default: "1",
        help: "number of tables",
    },
    OptionSpec {
        name: "table_size",
        default: "10000",
        help: "rows of each table",
    },
    OptionSpec {
        name: "range_size",
        default: "100",
        help: "rows of a range query",
    },
    OptionSpec {
        name: "point_selects",
        default: "10",
        help: "point queries in a transaction",
    },
    OptionSpec {
        name: "simple_ranges",
        default: "1",
        help: "simple range queries in a transaction",
    },
    OptionSpec {
        name: "sum_ranges",
        default: "1",
        help: "SUM() range queries in a transaction",
    },
    OptionSpec {
        name: "order_ranges",
        default: "1",
        help: "ORDER BY range queries in a transaction",
    },
    OptionSpec {
        name: "distinct_ranges",
        default: "1",
        help: "DISTINCT range queries in a transaction",
    },
    OptionSpec {
        name: "index_updates",
        default: "1",
        help: "updates of the indexed column in a transaction",
    },
    OptionSpec {
        name: "non_index_updates",
        default: "1",
        help: "updates of a plain column in a transaction",
    },
    OptionSpec {
        name: "delete_inserts",
        default: "1",
        help: "pairs of delete and insert in a transaction",
    },
    OptionSpec {
        name: "range_selects",
        default: "on",
        help: "on or off: all range queries",
    },
    OptionSpec {
        name: "skip_trx",
        default: "off",
        help: "on: no BEGIN and COMMIT, every statement for itself",
    },
];

const COUNT: usize = COMMON.len() + distribution::OPTIONS.len();

const fn all() -> [OptionSpec; COUNT] {
    let mut all = [COMMON[0]; COUNT];
    let mut index = 0;
    while index < COUNT {
        all[index] = if index < COMMON.len() {
            COMMON[index]
        } else {
            distribution::OPTIONS[index - COMMON.len()]
        };
        index += 1;
    }
    all
}

const ALL: [OptionSpec; COUNT] = all();
/// Options of every workload of the family; each ignores what does not concern it, as sysbench does.
pub const OPTIONS: &[OptionSpec] = &ALL;
/// Options that shape the dataset.
pub const DATASET: &[&str] = &["tables", "table_size", STORAGE_ENGINE.name];

const TABLES_MAX: u32 = 10_000;
/// Keys are 32-bit integers, and inserts need room.
const ROWS_MAX: u32 = 2_000_000_000;
/// More statements than that in one transaction are a typing mistake.
const STATEMENTS_MAX: u32 = 100_000;

/// Parsed options.
#[derive(Clone, Debug)]
pub struct Options {
    pub tables: u32,
    pub table_size: u32,
    pub range_size: u32,
    pub point_selects: u32,
    /// Simple, sum, order and distinct range queries.
    pub ranges: [u32; 4],
    pub index_updates: u32,
    pub non_index_updates: u32,
    pub delete_inserts: u32,
    pub skip_trx: bool,
    pub keys: Keys,
}

impl Options {
    /// Parses and validates; the message names the option, what was found and what is allowed.
    pub fn parse(settings: &Settings) -> Result<Options, String> {
        if settings.scale != 1 {
            return Err(format!(
                "scale: the oltp workloads are sized by the options tables and table_size; scale must be 1, got {}",
                settings.scale
            ));
        }
        let text = |name: &str| settings.options.get(name).map_or("", String::as_str);
        let number = |name: &str, low: u32, high: u32| -> Result<u32, String> {
            text(name)
                .parse()
                .ok()
                .filter(|value| (low..=high).contains(value))
                .ok_or_else(|| format!("option {name}: {low} to {high} is possible, got {:?}", text(name)))
        };
        let switch = |name: &str| match text(name) {
            "on" | "true" | "1" => Ok(true),
            "off" | "false" | "0" => Ok(false),
            other => Err(format!("option {name}: on or off is needed, got {other:?}")),
        };
        let statements = |name| number(name, 0, STATEMENTS_MAX);
        let table_size = number("table_size", 1, ROWS_MAX)?;
        let mut ranges = [
            statements("simple_ranges")?,
            statements("sum_ranges")?,
            statements("order_ranges")?,
            statements("distinct_ranges")?,
        ];
        if !switch("range_selects")? {
            ranges = [0; 4];
        }
        Ok(Options {
            tables: number("tables", 1, TABLES_MAX)?,
            table_size,
            range_size: number("range_size", 1, ROWS_MAX)?,
            point_selects: statements("point_selects")?,
            ranges,
            index_updates: statements("index_updates")?,
            non_index_updates: statements("non_index_updates")?,
            delete_inserts: statements("delete_inserts")?,
            skip_trx: switch("skip_trx")?,
            keys: Keys::new(table_size, &settings.options)?,
        })
    }
}
