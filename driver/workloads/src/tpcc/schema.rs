//! The tables, read from `schema/<dialect>.sql`. A dialect is one file cut into sections; adding one is adding the
//! file and its line in `DIALECTS`.

use super::options::{Isolation, Options};
use dyno_core::workload::Schema;

/// Names a dialect once and includes its file.
macro_rules! dialect {
    ($name:literal) => {
        ($name, include_str!(concat!("schema/", $name, ".sql")))
    };
}

const DIALECTS: [(&str, &str); 1] = [dialect!("postgresql")];

/// The server inside the driver parses no SQL, so that any dialect does.
pub const NULL_DIALECT: &str = "null";

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

/// The SQL text of one dialect.
#[derive(Clone, Copy, Debug)]
pub struct Dialect {
    text: &'static str,
}

impl Dialect {
    pub fn find(name: &str) -> Result<Dialect, String> {
        if name == NULL_DIALECT {
            return Ok(Dialect { text: DIALECTS[0].1 });
        }
        DIALECTS
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, text)| Dialect { text })
            .ok_or_else(|| {
                let known: Vec<&str> = DIALECTS.iter().map(|(known, _)| *known).collect();
                format!(
                    "tpcc: no schema for the dialect {name:?}; there is one for {}",
                    known.join(", ")
                )
            })
    }

    /// The statements of a section, without comments and final semicolons.
    fn section(self, name: &str) -> Vec<String> {
        let header = format!("-- section: {name}");
        let lines = self.text.lines().skip_while(|line| *line != header).skip(1);
        let body: Vec<&str> = lines
            .take_while(|line| !line.starts_with("-- section: "))
            .filter(|line| !line.starts_with("--"))
            .collect();
        let joined = body.join("\n");
        joined
            .split(';')
            .map(str::trim)
            .filter(|statement| !statement.is_empty())
            .map(String::from)
            .collect()
    }

    /// Begins a transaction at an isolation level.
    pub fn begin(self, isolation: Isolation) -> String {
        let section = match isolation {
            Isolation::ReadCommitted => "begin_rc",
            Isolation::RepeatableRead => "begin_rr",
            Isolation::Serializable => "begin_ser",
        };
        self.section(section).join("; ")
    }

    pub fn schema(self, options: &Options) -> Schema {
        let per_set = |section: &str| -> Vec<String> {
            let statements = self.section(section);
            options
                .suffixes()
                .iter()
                .flat_map(|suffix| statements.iter().map(move |statement| statement.replace("{n}", suffix)))
                .collect()
        };
        let mut finish = per_set("indexes");
        if options.foreign_keys {
            finish.extend(per_set("foreign_keys"));
        }
        finish.extend(per_set("statistics"));
        let tables = options
            .suffixes()
            .iter()
            .flat_map(|suffix| TABLES.iter().map(move |table| format!("{table}{suffix}")))
            .collect();
        Schema {
            create: per_set("create").join(";\n"),
            finish,
            tables,
        }
    }
}
