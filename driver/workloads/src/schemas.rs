//! SQL of the workloads by dialect: `schema/<dialect>.sql` in a workload's folder, cut into sections by lines
//! `-- section: <name>`. Placeholders are `{name}`.

use dyno_core::workload::{OptionSpec, Settings};

include!(concat!(env!("OUT_DIR"), "/schemas.rs"));

/// The server inside the driver parses no SQL, so that any dialect does.
pub const NULL_DIALECT: &str = "null";

/// The SQL file of one workload and dialect.
#[derive(Clone, Copy, Debug)]
pub struct SqlFile {
    text: &'static str,
}

impl SqlFile {
    /// Finds the file; the message lists the dialects that there are.
    pub fn find(workload: &str, dialect: &str) -> Result<SqlFile, String> {
        let mine = || SCHEMAS.iter().filter(|(of, _, _)| *of == workload);
        let fits = |name: &str| dialect == NULL_DIALECT || name == dialect;
        mine()
            .find(|(_, name, _)| fits(name))
            .map(|(_, _, text)| SqlFile { text })
            .ok_or_else(|| {
                let known: Vec<&str> = mine().map(|(_, name, _)| *name).collect();
                format!(
                    "{workload}: no schema for the dialect {dialect:?}; there is one for {}",
                    known.join(", ")
                )
            })
    }

    /// All dialects of a workload.
    #[cfg(test)]
    pub fn dialects(workload: &str) -> Vec<&'static str> {
        let mine = SCHEMAS.iter().filter(|(of, _, _)| *of == workload);
        mine.map(|(_, dialect, _)| *dialect).collect()
    }

    /// Statements of a section with `{name}` replaced, without comments and final semicolons.
    pub fn section(self, name: &str, values: &[(&str, String)]) -> Vec<String> {
        let header = format!("-- section: {name}");
        let lines = self.text.lines().skip_while(|line| *line != header).skip(1);
        let body: Vec<&str> = lines
            .take_while(|line| !line.starts_with("-- section: "))
            .filter(|line| !line.starts_with("--"))
            .collect();
        let mut text = body.join("\n");
        for (name, value) in values {
            text = text.replace(&format!("{{{name}}}"), value);
        }
        text.split(';')
            .map(str::trim)
            .filter(|statement| !statement.is_empty())
            .map(String::from)
            .collect()
    }
}

/// An option of every workload with a dataset.
pub const STORAGE_ENGINE: OptionSpec = OptionSpec {
    name: "storage_engine",
    default: "",
    help: "storage engine of the tables, where the server has several; empty: the one that the peers use",
};

impl SqlFile {
    /// The storage engine that the settings ask for, or the dialect's usual one (section `storage_engine`); empty where
    /// the dialect has no choice. Refuses what is no name, and a choice where there is none.
    pub fn storage_engine(self, settings: &Settings) -> Result<String, String> {
        let asked = settings.options.get(STORAGE_ENGINE.name).map_or("", String::as_str);
        let usual = self.section("storage_engine", &[]).pop();
        let is_name = asked
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
        match usual {
            _ if !is_name => Err(format!("option storage_engine: a name is needed, got {asked:?}")),
            Some(usual) if asked.is_empty() => Ok(usual),
            Some(_) => Ok(asked.to_string()),
            None if asked.is_empty() => Ok(String::new()),
            None => Err(format!(
                "option storage_engine: the dialect {:?} has no choice of storage engines, got {asked:?}",
                settings.dialect
            )),
        }
    }

    /// What each connection runs once for tables of this storage engine (section `session <engine>` in lower case).
    pub fn session(self, storage_engine: &str) -> Vec<String> {
        self.section(&format!("session {}", storage_engine.to_ascii_lowercase()), &[])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_dialect_is_explained() {
        let message = SqlFile::find("oltp", "oracle").unwrap_err();
        assert!(
            message.starts_with("oltp: no schema for the dialect \"oracle\"; there is one for "),
            "{message}"
        );
    }
}
