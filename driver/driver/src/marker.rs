//! The marker tables: they tell which tables of a database are ours, with what settings they were loaded, and which
//! parts of an interrupted load are done. Without a marker the driver neither loads over a table nor drops one.

use std::collections::BTreeMap;

use dyno_core::event::ErrorEvent;
use dyno_core::workload::{Settings, Workload};
use dyno_wire::Wire;
use dyno_workloads::Entry;

use crate::failure;

/// Version of the marker tables and of the datasets that they stand for.
const FORMAT: u32 = 1;
const TABLES: [&str; 2] = ["dyno_marker", "dyno_marker_task"];

/// What the marker says of a dataset.
#[derive(Clone, Debug)]
pub struct Marker {
    pub scale: u32,
    pub options: BTreeMap<String, String>,
    pub loaded: bool,
}

fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Options that shape the dataset. An empty one leaves the choice to the dialect, and is not written down: datasets that
/// were loaded before the option was there stay what they are.
pub fn dataset_options<W: Workload>(settings: &Settings) -> BTreeMap<String, String> {
    let names = W::dataset_options();
    let shapes = |name: &str| names.is_none_or(|names| names.contains(&name));
    settings
        .options
        .iter()
        .filter(|(name, value)| shapes(name) && !value.is_empty())
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

fn schema_error(message: String, hint: &str) -> ErrorEvent {
    failure::own("schema", message, hint)
}

/// Marker operations for one dataset over one connection.
pub struct Markers<'a, C> {
    pub wire: &'a mut C,
    pub entry: &'static Entry,
}

impl<C: Wire> Markers<'_, C> {
    async fn sql(&mut self, sql: &str) -> Result<usize, ErrorEvent> {
        self.wire
            .simple(sql)
            .await
            .map_err(|failure| failure::session(&failure))
    }

    /// Those of `tables` that exist.
    pub async fn existing(&mut self, tables: &[String]) -> Result<Vec<String>, ErrorEvent> {
        self.wire
            .existing_tables(tables)
            .await
            .map_err(|failure| failure::session(&failure))
    }

    /// Reads the marker; `None` when there is none for this dataset.
    pub async fn read(&mut self) -> Result<Option<Marker>, ErrorEvent> {
        if self.existing(&TABLES.map(String::from)).await?.len() < TABLES.len() {
            return Ok(None);
        }
        let dataset = quote(self.entry.dataset);
        let sql = format!("SELECT scale, options, format, state FROM dyno_marker WHERE dataset = {dataset}");
        if self.sql(&sql).await? == 0 {
            return Ok(None);
        }
        let cell = |column| self.wire.cell(0, column).unwrap_or_default();
        if cell(2) != FORMAT.to_string() {
            return Err(schema_error(
                format!(
                    "the dataset {:?} has format {}, this driver knows format {FORMAT}",
                    self.entry.dataset,
                    cell(2)
                ),
                "Use the driver that loaded it, or load into another database.",
            ));
        }
        let parsed = cell(0).parse().ok().zip(serde_json::from_str(cell(1)).ok());
        let Some((scale, options)) = parsed else {
            return Err(schema_error(
                format!(
                    "the marker of {:?} is not readable: {:?}, {:?}",
                    self.entry.dataset,
                    cell(0),
                    cell(1)
                ),
                "Somebody changed dyno_marker. Drop the tables by hand.",
            ));
        };
        Ok(Some(Marker {
            scale,
            options,
            loaded: cell(3) == "loaded",
        }))
    }

    /// Creates the marker tables where they are missing.
    pub async fn create_tables(&mut self) -> Result<(), ErrorEvent> {
        self.sql(
            "CREATE TABLE IF NOT EXISTS dyno_marker (dataset varchar(100) PRIMARY KEY, scale integer NOT NULL, \
             options varchar(4000) NOT NULL, format integer NOT NULL, state varchar(20) NOT NULL, \
             driver varchar(40) NOT NULL)",
        )
        .await?;
        self.sql(
            "CREATE TABLE IF NOT EXISTS dyno_marker_task (dataset varchar(100) NOT NULL, task varchar(200) NOT NULL, \
             PRIMARY KEY (dataset, task))",
        )
        .await?;
        Ok(())
    }

    /// Writes the marker of a load that begins.
    pub async fn insert(&mut self, scale: u32, options: &BTreeMap<String, String>) -> Result<(), ErrorEvent> {
        let options =
            serde_json::to_string(options).map_err(|error| failure::own("internal", error.to_string(), ""))?;
        let sql = format!(
            "INSERT INTO dyno_marker (dataset, scale, options, format, state, driver) \
             VALUES ({}, {scale}, {}, {FORMAT}, 'loading', {})",
            quote(self.entry.dataset),
            quote(&options),
            quote(env!("CARGO_PKG_VERSION")),
        );
        self.sql(&sql).await.map(|_| ())
    }

    /// Marks the dataset as whole.
    pub async fn loaded(&mut self) -> Result<(), ErrorEvent> {
        let sql = format!(
            "UPDATE dyno_marker SET state = 'loaded' WHERE dataset = {}",
            quote(self.entry.dataset)
        );
        self.sql(&sql).await.map(|_| ())
    }

    /// Forgets the dataset, and the marker tables with the last one.
    pub async fn remove(&mut self) -> Result<(), ErrorEvent> {
        let dataset = quote(self.entry.dataset);
        self.sql(&format!("DELETE FROM dyno_marker_task WHERE dataset = {dataset}"))
            .await?;
        self.sql(&format!("DELETE FROM dyno_marker WHERE dataset = {dataset}"))
            .await?;
        if self.sql("SELECT 1 FROM dyno_marker").await? == 0 {
            self.sql("DROP TABLE dyno_marker_task").await?;
            self.sql("DROP TABLE dyno_marker").await?;
        }
        Ok(())
    }

    /// Names of finished tasks.
    pub async fn tasks(&mut self) -> Result<Vec<String>, ErrorEvent> {
        let dataset = quote(self.entry.dataset);
        let count = self
            .sql(&format!("SELECT task FROM dyno_marker_task WHERE dataset = {dataset}"))
            .await?;
        Ok((0..count)
            .filter_map(|row| self.wire.cell(row, 0).map(String::from))
            .collect())
    }

    /// Verifies that the dataset of the settings is here and whole.
    pub async fn verify<W: Workload>(&mut self, settings: &Settings) -> Result<(), ErrorEvent> {
        let name = self.entry.name;
        let Some(marker) = self.read().await? else {
            return Err(schema_error(
                format!(
                    "the database has no dataset {:?} that this driver loaded",
                    self.entry.dataset
                ),
                "Run the verb load first, or set \"adopt\": true to use tables that another tool made.",
            ));
        };
        if !marker.loaded {
            return Err(schema_error(
                format!("the load of {:?} was interrupted and is not whole", self.entry.dataset),
                "Run the verb load again: it goes on where it stopped.",
            ));
        }
        match difference(&marker, settings.scale, &dataset_options::<W>(settings)) {
            None => Ok(()),
            Some(difference) => Err(schema_error(
                format!("{name}: the dataset was loaded with other settings than asked for: {difference}"),
                "Ask for what is loaded, or load again with \"restart\": true.",
            )),
        }
    }
}

/// Says how the marker differs from what is asked for; `None` when it does not.
pub fn difference(marker: &Marker, scale: u32, options: &BTreeMap<String, String>) -> Option<String> {
    let mut parts = Vec::new();
    if marker.scale != scale {
        parts.push(format!("scale is {}, asked for {scale}", marker.scale));
    }
    for name in marker
        .options
        .keys()
        .chain(options.keys().filter(|name| !marker.options.contains_key(*name)))
    {
        let (there, asked) = (marker.options.get(name), options.get(name));
        if there != asked {
            let show = |value: Option<&String>| value.map_or("absent".to_string(), String::clone);
            parts.push(format!("{name} is {}, asked for {}", show(there), show(asked)));
        }
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_spelled_out() {
        let options = |value: &str| BTreeMap::from([("tables".to_string(), value.to_string())]);
        let marker = Marker {
            scale: 1,
            options: options("4"),
            loaded: true,
        };
        assert_eq!(difference(&marker, 1, &options("4")), None);
        assert_eq!(
            difference(&marker, 2, &options("8")).unwrap(),
            "scale is 1, asked for 2; tables is 4, asked for 8"
        );
    }
}
