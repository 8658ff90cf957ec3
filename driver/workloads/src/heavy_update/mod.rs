//! Small transactions on a hot history table, in the manner of db_STRESS, the load of "Tuning for heavy writing
//! workloads" (2009): each object has twenty lines of history; readers fetch an object and its history, writers take
//! away one line, put it back anew and change another one. Without think time it makes redo and old row versions as
//! fast as a server can take them. Statements and names are our own.

use dyno_core::distribution::{self, Keys};
use dyno_core::rng::Rng;
use dyno_core::session::{Failure, Session, Statement, StatementKind, Type, Value};
use dyno_core::workload::{Check, LoadTask, OptionSpec, Outcome, Schema, Settings, Workload};

use crate::schemas::SqlFile;

const OBJECTS_PER_SCALE: u32 = 10_000;
/// Above, object numbers would leave 32-bit integers.
const SCALE_MAX: u32 = 100_000;
/// Lines of history of each object.
const LINES: i32 = 20;
const PARTITIONS_MAX: u32 = 1024;
const READS_MAX: u32 = 1000;
/// Objects of a load task: about a second of work.
const TASK_OBJECTS: u32 = 2_500;
/// Random streams of tasks lie above those of connections.
const TASK_STREAMS: u64 = 1 << 40;
const NOTE_TEMPLATE: &[u8] = b"##########-##########-##########-##########-##########-##########-##########-##########";

pub const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        name: "reads_per_write",
        default: "1",
        help: "reading transactions for each writing one; 0: only writes (db_STRESS's RW ratio)",
    },
    OptionSpec {
        name: "partitions",
        default: "1",
        help: "partitions of the history table by object; 1: not partitioned",
    },
    OptionSpec {
        default: "uniform",
        ..distribution::OPTIONS[0]
    },
    distribution::OPTIONS[1],
    distribution::OPTIONS[2],
    distribution::OPTIONS[3],
    distribution::OPTIONS[4],
    distribution::OPTIONS[5],
];
/// Options that shape the dataset.
const DATASET: &[&str] = &["partitions"];

const READ: usize = 0;
const WRITE: usize = 1;

const BEGIN: usize = 0;
const COMMIT: usize = 1;
const SELECT_OBJECT: usize = 2;
const SELECT_HISTORY: usize = 3;
const DELETE_LINE: usize = 4;
const INSERT_LINE: usize = 5;
const UPDATE_LINE: usize = 6;
const INT2: &[Type] = &[Type::Int, Type::Int];
const STATEMENTS: [(&str, &[Type], StatementKind); 7] = [
    ("BEGIN", &[], StatementKind::Other),
    ("COMMIT", &[], StatementKind::Other),
    (
        "SELECT section, name, note FROM stress_object WHERE ref = $1",
        &[Type::Int],
        StatementKind::Read,
    ),
    (
        "SELECT line, changes, note FROM stress_history WHERE ref = $1 ORDER BY line",
        &[Type::Int],
        StatementKind::Read,
    ),
    (
        "DELETE FROM stress_history WHERE ref = $1 AND line = $2",
        INT2,
        StatementKind::Write,
    ),
    (
        "INSERT INTO stress_history (ref, line, changes, note) VALUES ($1, $2, 0, $3)",
        &[Type::Int, Type::Int, Type::Text],
        StatementKind::Write,
    ),
    (
        "UPDATE stress_history SET changes = changes + 1, note = $1 WHERE ref = $2 AND line = $3",
        &[Type::Text, Type::Int, Type::Int],
        StatementKind::Write,
    ),
];

pub struct HeavyUpdate {
    objects: u32,
    partitions: u32,
    reads_per_write: u32,
    keys: Keys,
    seed: u64,
    file: SqlFile,
}

/// The values of one transaction.
pub enum Input {
    Read {
        object: i32,
    },
    Write {
        object: i32,
        renewed: i32,
        changed: i32,
        note: String,
    },
}

fn number(settings: &Settings, name: &str, most: u32) -> Result<u32, String> {
    let text = settings.options.get(name).map_or("", String::as_str);
    text.parse()
        .ok()
        .filter(|number| *number <= most)
        .ok_or_else(|| format!("{name}: a whole number up to {most} is needed, got {text:?}"))
}

impl Workload for HeavyUpdate {
    type Client = Rng;
    type Input = Input;

    fn new(settings: &Settings) -> Result<Self, String> {
        if !(1..=SCALE_MAX).contains(&settings.scale) {
            return Err(format!("scale: 1 to {SCALE_MAX} is possible, got {}", settings.scale));
        }
        let objects = settings.scale * OBJECTS_PER_SCALE;
        let partitions = number(settings, "partitions", PARTITIONS_MAX)?;
        if partitions == 0 {
            return Err("partitions: at least 1 is needed, got 0".into());
        }
        Ok(HeavyUpdate {
            objects,
            partitions,
            reads_per_write: number(settings, "reads_per_write", READS_MAX)?,
            keys: Keys::new(objects, &settings.options)?,
            seed: settings.seed,
            file: SqlFile::find("heavy_update", &settings.dialect)?,
        })
    }

    fn transaction_types(&self) -> &[&'static str] {
        &["read", "write"]
    }

    fn statements(&self) -> Vec<Statement> {
        STATEMENTS
            .iter()
            .map(|(sql, parameters, kind)| Statement {
                sql: (*sql).to_string(),
                parameters: parameters.to_vec(),
                kind: *kind,
            })
            .collect()
    }

    fn client(&self, connection: u32, _connections: u32) -> Rng {
        Rng::new(self.seed, u64::from(connection))
    }

    fn draw(&self, rng: &mut Rng) -> Input {
        let object = self.keys.draw(rng) as i32;
        if rng.between(0, i64::from(self.reads_per_write)) > 0 {
            return Input::Read { object };
        }
        let renewed = rng.between(1, i64::from(LINES)) as i32;
        // Another line than the renewed one, so that each write changes two rows.
        let changed = (renewed - 1 + rng.between(1, i64::from(LINES) - 1) as i32) % LINES + 1;
        Input::Write {
            object,
            renewed,
            changed,
            note: note(rng),
        }
    }

    fn kind(&self, input: &Input) -> usize {
        match input {
            Input::Read { .. } => READ,
            Input::Write { .. } => WRITE,
        }
    }

    async fn run<S: Session>(&self, input: &Input, session: &mut S) -> Result<Outcome, Failure> {
        let int = Value::Int;
        match input {
            Input::Read { object } => {
                session.execute(SELECT_OBJECT, &[int(*object)]).await?;
                session.execute(SELECT_HISTORY, &[int(*object)]).await?;
            }
            Input::Write {
                object,
                renewed,
                changed,
                note,
            } => {
                let (object, note) = (int(*object), Value::Text(note));
                session.execute(BEGIN, &[]).await?;
                session.execute(SELECT_OBJECT, &[object]).await?;
                session.execute(DELETE_LINE, &[object, int(*renewed)]).await?;
                session.execute(INSERT_LINE, &[object, int(*renewed), note]).await?;
                session.commit_follows();
                session.execute(UPDATE_LINE, &[note, object, int(*changed)]).await?;
                session.execute(COMMIT, &[]).await?;
            }
        }
        Ok(Outcome::Committed)
    }

    fn dataset_options() -> Option<&'static [&'static str]> {
        Some(DATASET)
    }

    /// Two writers of the same line: the second one's DELETE finds nothing and its INSERT meets the first one's row.
    fn repeats_after(class: &str) -> bool {
        class == "duplicate_key"
    }

    fn schema(&self) -> Schema {
        let partitions = [("partitions", self.partitions.to_string())];
        let mut create = if self.partitions == 1 {
            self.file.section("create", &[])
        } else {
            self.file.section("create_partitioned", &partitions)
        };
        if self.partitions > 1 {
            create.extend((0..self.partitions).flat_map(|n| {
                let values = [("n", n.to_string()), ("partitions", self.partitions.to_string())];
                self.file.section("partition", &values)
            }));
        }
        Schema {
            create: create.join(";\n"),
            finish: self.file.section("finish", &[]),
            tables: ["stress_history", "stress_object"].map(String::from).to_vec(),
        }
    }

    fn load_unit(&self) -> &'static str {
        "objects"
    }

    fn load_tasks(&self) -> Vec<LoadTask> {
        (0..self.objects.div_ceil(TASK_OBJECTS))
            .map(|task| {
                let first = task * TASK_OBJECTS + 1;
                let last = self.objects.min((task + 1) * TASK_OBJECTS);
                LoadTask {
                    name: format!("objects:{first}-{last}"),
                    weight: u64::from(last - first + 1),
                }
            })
            .collect()
    }

    async fn load<S: Session>(&self, task: &LoadTask, session: &mut S) -> Result<(), Failure> {
        let range = task.name.strip_prefix("objects:").and_then(|range| {
            let (first, last) = range.split_once('-')?;
            Some((first.parse::<u32>().ok()?, last.parse::<u32>().ok()?))
        });
        let Some((first, last)) = range else {
            unreachable!("the task {:?} is not one of ours", task.name)
        };
        let mut rng = Rng::new(self.seed, TASK_STREAMS + u64::from(first));
        let mut object = first;
        session
            .bulk_load("stress_object (ref, section, name, note)", &mut |out: &mut Vec<u8>| {
                let line = format!("{object}\t{}\tobject {object}\t{}\n", object % 100, note(&mut rng));
                out.extend_from_slice(line.as_bytes());
                object += 1;
                object <= last
            })
            .await?;
        let (mut object, mut line) = (first, 1);
        session
            .bulk_load("stress_history (ref, line, changes, note)", &mut |out: &mut Vec<u8>| {
                out.extend_from_slice(format!("{object}\t{line}\t0\t{}\n", note(&mut rng)).as_bytes());
                (object, line) = if line < LINES {
                    (object, line + 1)
                } else {
                    (object + 1, 1)
                };
                object <= last
            })
            .await
            .map(|_| ())
    }

    fn checks(&self) -> Vec<Check> {
        let values = [("lines", LINES.to_string()), ("objects", self.objects.to_string())];
        [
            ("objects", "no object is missing"),
            ("history", "each object has all its lines of history"),
            ("orphans", "each line of history has its object"),
        ]
        .iter()
        .flat_map(|(name, title)| {
            let found = self.file.section(&format!("check_{name}"), &values);
            found.into_iter().map(|sql| Check {
                clause: (*name).to_string(),
                title: (*title).to_string(),
                sql,
            })
        })
        .collect()
    }
}

fn note(rng: &mut Rng) -> String {
    let mut text = Vec::with_capacity(NOTE_TEMPLATE.len());
    rng.digits(NOTE_TEMPLATE, &mut text);
    String::from_utf8(text).expect("digits are ASCII")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn made(options: &[(&str, &str)]) -> Result<HeavyUpdate, String> {
        let mut all: BTreeMap<String, String> = OPTIONS
            .iter()
            .map(|option| (option.name.to_string(), option.default.to_string()))
            .collect();
        all.extend(
            options
                .iter()
                .map(|(name, value)| (name.to_string(), value.to_string())),
        );
        HeavyUpdate::new(&Settings {
            scale: 1,
            options: all,
            dialect: crate::schemas::NULL_DIALECT.into(),
            seed: 1,
        })
    }

    #[test]
    fn writes_change_two_different_lines_of_an_object_that_exists() {
        let workload = made(&[("reads_per_write", "0")]).unwrap();
        let mut rng = workload.client(0, 1);
        for _ in 0..10_000 {
            let Input::Write {
                object,
                renewed,
                changed,
                ..
            } = workload.draw(&mut rng)
            else {
                panic!("only writes were asked for")
            };
            assert!((1..=OBJECTS_PER_SCALE as i32).contains(&object));
            assert!((1..=LINES).contains(&renewed) && (1..=LINES).contains(&changed));
            assert_ne!(renewed, changed);
        }
    }

    #[test]
    fn the_ratio_of_reads_is_as_asked() {
        let workload = made(&[("reads_per_write", "3")]).unwrap();
        let mut rng = workload.client(0, 1);
        let drawn = 20_000;
        let reads = (0..drawn)
            .filter(|_| matches!(workload.draw(&mut rng), Input::Read { .. }))
            .count();
        assert!(
            (reads as f64 / f64::from(drawn) - 0.75).abs() < 0.02,
            "{reads} of {drawn}"
        );
    }

    #[test]
    fn impossible_options_are_refused() {
        for (name, value) in [("partitions", "0"), ("partitions", "x"), ("reads_per_write", "-1")] {
            let message = made(&[(name, value)]).err().unwrap_or_default();
            assert!(message.starts_with(name), "{message:?}");
        }
    }

    #[test]
    fn the_load_covers_each_object_once() {
        let workload = made(&[]).unwrap();
        let total: u64 = workload.load_tasks().iter().map(|task| task.weight).sum();
        assert_eq!(total, u64::from(OBJECTS_PER_SCALE));
    }
}
