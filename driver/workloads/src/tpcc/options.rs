//! What a plan may say about this workload, parsed once into types that cannot be wrong.

use crate::schemas::STORAGE_ENGINE;
use dyno_core::workload::{OptionSpec, Settings};

pub const OPTIONS: &[OptionSpec] = &[
    STORAGE_ENGINE,
    OptionSpec {
        name: "tables",
        default: "1",
        help: "sets of the nine tables (1..N behind their names when there are several); a transaction picks one set",
    },
    OptionSpec {
        name: "foreign_keys",
        default: "off",
        help: "declare the foreign keys after the load: on, off",
    },
    OptionSpec {
        name: "text",
        default: "random",
        help: "what fills the text columns: random, compressible (words)",
    },
    OptionSpec {
        name: "isolation",
        default: "rc",
        help: "isolation level: rc (read committed), rr (repeatable read), ser (serializable)",
    },
    OptionSpec {
        name: "home",
        default: "fixed",
        help: "fixed: a connection keeps to its own share of the warehouses; random: any warehouse each transaction",
    },
];

/// Options that shape the dataset; the others may change from run to run.
pub const OF_DATASET: &[&str] = &["tables", "foreign_keys", "text", STORAGE_ENGINE.name];

/// More than that is a typing mistake: it would be about 8 TB.
const WAREHOUSES_MAX: u32 = 100_000;
const TABLE_SETS_MAX: u32 = 1000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Text {
    Random,
    Compressible,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    Fixed,
    Random,
}

#[derive(Clone, Debug)]
pub struct Options {
    pub warehouses: u32,
    pub table_sets: u32,
    pub foreign_keys: bool,
    pub text: Text,
    pub isolation: Isolation,
    pub home: Home,
}

impl Options {
    pub fn parse(settings: &Settings) -> Result<Options, String> {
        let warehouses = settings.scale;
        if !(1..=WAREHOUSES_MAX).contains(&warehouses) {
            return Err(format!(
                "tpcc: the scale is the number of warehouses, 1 to {WAREHOUSES_MAX}, but got {warehouses}"
            ));
        }
        let tables = value(settings, "tables");
        let table_sets = tables
            .parse()
            .ok()
            .filter(|sets| (1..=TABLE_SETS_MAX).contains(sets))
            .ok_or_else(|| {
                format!("tpcc: option tables must be a number from 1 to {TABLE_SETS_MAX}, but got {tables:?}")
            })?;
        if u64::from(warehouses) * u64::from(table_sets) > u64::from(WAREHOUSES_MAX) {
            return Err(format!(
                "tpcc: scale times tables must be at most {WAREHOUSES_MAX}, but got {warehouses} times {table_sets}"
            ));
        }
        Ok(Options {
            warehouses,
            table_sets,
            foreign_keys: choice(settings, "foreign_keys", &[("off", false), ("on", true)])?,
            text: choice(
                settings,
                "text",
                &[("random", Text::Random), ("compressible", Text::Compressible)],
            )?,
            isolation: choice(
                settings,
                "isolation",
                &[
                    ("rc", Isolation::ReadCommitted),
                    ("rr", Isolation::RepeatableRead),
                    ("ser", Isolation::Serializable),
                ],
            )?,
            home: choice(settings, "home", &[("fixed", Home::Fixed), ("random", Home::Random)])?,
        })
    }

    /// What stands behind the table names of each set.
    pub fn suffixes(&self) -> Vec<String> {
        match self.table_sets {
            1 => vec![String::new()],
            sets => (1..=sets).map(|set| set.to_string()).collect(),
        }
    }
}

/// An option's value, or its default when the plan does not name it.
fn value<'a>(settings: &'a Settings, name: &str) -> &'a str {
    let default = OPTIONS
        .iter()
        .find(|option| option.name == name)
        .map_or("", |option| option.default);
    settings.options.get(name).map_or(default, String::as_str)
}

fn choice<T: Copy>(settings: &Settings, name: &str, choices: &[(&str, T)]) -> Result<T, String> {
    let got = value(settings, name);
    choices
        .iter()
        .find(|(word, _)| *word == got)
        .map(|(_, chosen)| *chosen)
        .ok_or_else(|| {
            let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
            format!(
                "tpcc: option {name} must be one of {}, but got {got:?}",
                words.join(", ")
            )
        })
}
