//! The sysbench OLTP family (sysbench 1.0.20, oltp_*.lua): the same tables, statements, order and defaults, under the
//! same names. Options that concern other layouts (`auto_inc`, `secondary`) are not here:
//! keys come from the table's sequence, as sysbench's default has it.

mod load;
mod options;

use dyno_core::rng::Rng;
use dyno_core::session::{Failure, Session, Statement, StatementKind, Type, Value};
use dyno_core::workload::{Check, LoadTask, Outcome, Schema, Settings, Workload};

use self::load::{C_TEMPLATE, PAD_TEMPLATE};
use self::options::Options;
use crate::schemas::SqlFile;

pub use self::options::OPTIONS;

/// Parts of a transaction.
const BEGIN_COMMIT: u16 = 1;
const POINT: u16 = 2;
const RANGES: u16 = 4;
const UPDATE_INDEX: u16 = 8;
const UPDATE_NON_INDEX: u16 = 16;
const DELETE_INSERT: u16 = 32;
/// One point query, whatever `point_selects` says.
const ONE_POINT: u16 = 64;
const INSERT_ONLY: u16 = 128;
const DELETE_ONLY: u16 = 256;
const READS: u16 = POINT | RANGES;
const WRITES: u16 = UPDATE_INDEX | UPDATE_NON_INDEX | DELETE_INSERT;

pub type PointSelect = Oltp<{ POINT | ONE_POINT }>;
pub type ReadOnly = Oltp<{ BEGIN_COMMIT | READS }>;
pub type ReadWrite = Oltp<{ BEGIN_COMMIT | READS | WRITES }>;
pub type WriteOnly = Oltp<{ BEGIN_COMMIT | WRITES }>;
pub type UpdateIndex = Oltp<UPDATE_INDEX>;
pub type UpdateNonIndex = Oltp<UPDATE_NON_INDEX>;
pub type Insert = Oltp<INSERT_ONLY>;
pub type Delete = Oltp<DELETE_ONLY>;

/// A workload of the family; `PARTS` says what its transaction is made of.
pub struct Oltp<const PARTS: u16> {
    options: Options,
    file: SqlFile,
    storage_engine: String,
    seed: u64,
}

/// What one connection draws from.
pub struct Client {
    rng: Rng,
}

/// A transaction: its statements in order, and the text that they bind.
pub struct Input {
    operations: Vec<Operation>,
    text: String,
}

/// One statement with its values; `at` is where its text begins.
enum Operation {
    Plain {
        statement: usize,
    },
    Key {
        statement: usize,
        id: i32,
    },
    Range {
        statement: usize,
        low: i32,
        high: i32,
    },
    Update {
        statement: usize,
        at: usize,
        id: i32,
    },
    Insert {
        statement: usize,
        id: i32,
        k: i32,
        at: usize,
    },
    Query {
        at: usize,
    },
}

/// Indexes of the statements: BEGIN and COMMIT, then these for each table.
const BEGIN: usize = 0;
const COMMIT: usize = 1;
const TABLE_STATEMENTS: [(&str, &[Type], StatementKind); 9] = [
    ("SELECT c FROM sbtest{n} WHERE id=$1", &[Type::Int], StatementKind::Read),
    (
        "SELECT c FROM sbtest{n} WHERE id BETWEEN $1 AND $2",
        &[Type::Int, Type::Int],
        StatementKind::Read,
    ),
    (
        "SELECT SUM(k) FROM sbtest{n} WHERE id BETWEEN $1 AND $2",
        &[Type::Int, Type::Int],
        StatementKind::Read,
    ),
    (
        "SELECT c FROM sbtest{n} WHERE id BETWEEN $1 AND $2 ORDER BY c",
        &[Type::Int, Type::Int],
        StatementKind::Read,
    ),
    (
        "SELECT DISTINCT c FROM sbtest{n} WHERE id BETWEEN $1 AND $2 ORDER BY c",
        &[Type::Int, Type::Int],
        StatementKind::Read,
    ),
    (
        "UPDATE sbtest{n} SET k=k+1 WHERE id=$1",
        &[Type::Int],
        StatementKind::Write,
    ),
    (
        "UPDATE sbtest{n} SET c=$1 WHERE id=$2",
        &[Type::Text, Type::Int],
        StatementKind::Write,
    ),
    ("DELETE FROM sbtest{n} WHERE id=$1", &[Type::Int], StatementKind::Write),
    (
        "INSERT INTO sbtest{n} (id, k, c, pad) VALUES ($1, $2, $3, $4)",
        &[Type::Int, Type::Int, Type::Text, Type::Text],
        StatementKind::Write,
    ),
];
const POINT_AT: usize = 0;
const RANGE_AT: usize = 1;
const UPDATE_INDEX_AT: usize = 5;
const UPDATE_NON_INDEX_AT: usize = 6;
const DELETE_AT: usize = 7;
const INSERT_AT: usize = 8;

impl<const PARTS: u16> Oltp<PARTS> {
    const fn has(part: u16) -> bool {
        PARTS & part != 0
    }

    /// Which of `TABLE_STATEMENTS` this workload prepares.
    fn used(&self) -> Vec<usize> {
        let parts: [(u16, &[usize]); 6] = [
            (POINT, &[POINT_AT]),
            (RANGES, &[RANGE_AT, RANGE_AT + 1, RANGE_AT + 2, RANGE_AT + 3]),
            (UPDATE_INDEX, &[UPDATE_INDEX_AT]),
            (UPDATE_NON_INDEX, &[UPDATE_NON_INDEX_AT]),
            (DELETE_INSERT | DELETE_ONLY, &[DELETE_AT]),
            (DELETE_INSERT, &[INSERT_AT]),
        ];
        parts
            .iter()
            .filter(|(part, _)| Self::has(*part))
            .flat_map(|(_, used)| used.iter().copied())
            .collect()
    }

    /// The index of a statement of table `table` (from 0) in the list of `statements`.
    #[inline]
    fn statement(table: u32, which: usize) -> usize {
        let position = |which: usize| {
            let mut position = 0;
            let mut index = 0;
            while index < which {
                position += usize::from(Self::prepares(index));
                index += 1;
            }
            position
        };
        2 + table as usize * position(TABLE_STATEMENTS.len()) + position(which)
    }

    #[inline]
    const fn prepares(which: usize) -> bool {
        match which {
            POINT_AT => Self::has(POINT),
            1..=4 => Self::has(RANGES),
            UPDATE_INDEX_AT => Self::has(UPDATE_INDEX),
            UPDATE_NON_INDEX_AT => Self::has(UPDATE_NON_INDEX),
            DELETE_AT => Self::has(DELETE_INSERT | DELETE_ONLY),
            _ => Self::has(DELETE_INSERT),
        }
    }

    fn table(&self, rng: &mut Rng) -> u32 {
        rng.between(0, i64::from(self.options.tables) - 1) as u32
    }

    fn id(&self, rng: &mut Rng) -> i32 {
        self.options.keys.draw(rng) as i32
    }

    fn draw_reads(&self, rng: &mut Rng, operations: &mut Vec<Operation>) {
        if Self::has(POINT) {
            let statement = Self::statement(self.table(rng), POINT_AT);
            let count = if Self::has(ONE_POINT) {
                1
            } else {
                self.options.point_selects
            };
            operations.extend((0..count).map(|_| Operation::Key {
                statement,
                id: self.id(rng),
            }));
        }
        if Self::has(RANGES) {
            for (kind, &count) in self.options.ranges.iter().enumerate() {
                let statement = Self::statement(self.table(rng), RANGE_AT + kind);
                for _ in 0..count {
                    let low = self.id(rng);
                    let high = low.saturating_add(self.options.range_size as i32 - 1);
                    operations.push(Operation::Range { statement, low, high });
                }
            }
        }
    }

    fn draw_writes(&self, rng: &mut Rng, operations: &mut Vec<Operation>, text: &mut Vec<u8>) {
        if Self::has(UPDATE_INDEX) {
            let statement = Self::statement(self.table(rng), UPDATE_INDEX_AT);
            let count = self.options.index_updates;
            operations.extend((0..count).map(|_| Operation::Key {
                statement,
                id: self.id(rng),
            }));
        }
        if Self::has(UPDATE_NON_INDEX) {
            let statement = Self::statement(self.table(rng), UPDATE_NON_INDEX_AT);
            for _ in 0..self.options.non_index_updates {
                let at = text.len();
                rng.digits(C_TEMPLATE, text);
                operations.push(Operation::Update {
                    statement,
                    at,
                    id: self.id(rng),
                });
            }
        }
        if Self::has(DELETE_INSERT) {
            let table = self.table(rng);
            for _ in 0..self.options.delete_inserts {
                let (id, k, at) = (self.id(rng), self.id(rng), text.len());
                rng.digits(C_TEMPLATE, text);
                rng.digits(PAD_TEMPLATE, text);
                operations.push(Operation::Key {
                    statement: Self::statement(table, DELETE_AT),
                    id,
                });
                operations.push(Operation::Insert {
                    statement: Self::statement(table, INSERT_AT),
                    id,
                    k,
                    at,
                });
            }
        }
        if Self::has(DELETE_ONLY) {
            let statement = Self::statement(self.table(rng), DELETE_AT);
            operations.push(Operation::Key {
                statement,
                id: self.id(rng),
            });
        }
        if Self::has(INSERT_ONLY) {
            // sysbench sends this one unprepared, with the values in the text.
            let (table, k) = (self.table(rng) + 1, self.id(rng));
            text.extend_from_slice(format!("INSERT INTO sbtest{table} (k, c, pad) VALUES ({k}, '").as_bytes());
            rng.digits(C_TEMPLATE, text);
            text.extend_from_slice(b"', '");
            rng.digits(PAD_TEMPLATE, text);
            text.extend_from_slice(b"')");
            operations.push(Operation::Query { at: 0 });
        }
    }

    #[inline]
    async fn operation<S: Session>(operation: &Operation, text: &str, session: &mut S) -> Result<(), Failure> {
        let c = |at: usize| Value::Text(&text[at..at + C_TEMPLATE.len()]);
        let pad = |at: usize| Value::Text(&text[at + C_TEMPLATE.len()..at + C_TEMPLATE.len() + PAD_TEMPLATE.len()]);
        match *operation {
            Operation::Plain { statement } => session.execute(statement, &[]).await?,
            Operation::Key { statement, id } => session.execute(statement, &[Value::Int(id)]).await?,
            Operation::Range { statement, low, high } => {
                session.execute(statement, &[Value::Int(low), Value::Int(high)]).await?
            }
            Operation::Update { statement, at, id } => session.execute(statement, &[c(at), Value::Int(id)]).await?,
            Operation::Insert { statement, id, k, at } => {
                session
                    .execute(statement, &[Value::Int(id), Value::Int(k), c(at), pad(at)])
                    .await?
            }
            Operation::Query { at } => session.simple(&text[at..]).await? as u64,
        };
        Ok(())
    }
}

impl<const PARTS: u16> Workload for Oltp<PARTS> {
    type Client = Client;
    type Input = Input;

    fn new(settings: &Settings) -> Result<Self, String> {
        let file = SqlFile::find("oltp", &settings.dialect)?;
        Ok(Oltp {
            options: Options::parse(settings)?,
            storage_engine: file.storage_engine(settings)?,
            file,
            seed: settings.seed,
        })
    }

    fn transaction_types(&self) -> &[&'static str] {
        &["transaction"]
    }

    fn statements(&self) -> Vec<Statement> {
        let plain = |sql: &str| Statement {
            sql: sql.into(),
            parameters: Vec::new(),
            kind: StatementKind::Other,
        };
        let mut statements = vec![plain("BEGIN"), plain("COMMIT")];
        let used = self.used();
        for table in 1..=self.options.tables {
            statements.extend(used.iter().map(|&which| {
                let (sql, parameters, kind) = TABLE_STATEMENTS[which];
                Statement {
                    sql: sql.replace("{n}", &table.to_string()),
                    parameters: parameters.to_vec(),
                    kind,
                }
            }));
        }
        statements
    }

    fn session(&self) -> Vec<String> {
        self.file.session(&self.storage_engine)
    }

    fn client(&self, connection: u32, _connections: u32) -> Client {
        Client {
            rng: Rng::new(self.seed, u64::from(connection)),
        }
    }

    #[inline]
    fn draw(&self, client: &mut Client) -> Input {
        let trx = Self::has(BEGIN_COMMIT) && !self.options.skip_trx;
        let mut operations = Vec::with_capacity(if Self::has(BEGIN_COMMIT) { 24 } else { 1 });
        let mut text = Vec::new();
        if trx {
            operations.push(Operation::Plain { statement: BEGIN });
        }
        self.draw_reads(&mut client.rng, &mut operations);
        self.draw_writes(&mut client.rng, &mut operations, &mut text);
        if trx {
            operations.push(Operation::Plain { statement: COMMIT });
        }
        let text = String::from_utf8(text).expect("digits and SQL are ASCII");
        Input { operations, text }
    }

    fn kind(&self, _input: &Input) -> usize {
        0
    }

    #[inline]
    async fn run<S: Session>(&self, input: &Input, session: &mut S) -> Result<Outcome, Failure> {
        // A transaction that writes ends with an INSERT, if any, and COMMIT.
        let last = match input.operations.as_slice() {
            [
                ..,
                Operation::Insert { .. } | Operation::Update { .. },
                Operation::Plain { .. },
            ] => input.operations.len() - 2,
            _ => usize::MAX,
        };
        for (index, operation) in input.operations.iter().enumerate() {
            if index == last {
                session.commit_follows();
            }
            Self::operation(operation, &input.text, session).await?;
        }
        Ok(Outcome::Committed)
    }

    fn dataset_options() -> Option<&'static [&'static str]> {
        Some(options::DATASET)
    }

    /// Two transactions that delete and insert the same key meet: the second one's DELETE finds nothing and its INSERT
    /// meets the first one's row. sysbench counts that as an ignored error and goes on.
    fn repeats_after(class: &str) -> bool {
        class == "duplicate_key"
    }

    fn schema(&self) -> Schema {
        let rows = self.options.table_size.to_string();
        let sections = |name: &str| -> Vec<String> {
            (1..=self.options.tables)
                .flat_map(|n| {
                    let engine = self.storage_engine.clone();
                    let values = [("n", n.to_string()), ("rows", rows.clone()), ("storage_engine", engine)];
                    self.file.section(name, &values)
                })
                .collect()
        };
        Schema {
            create: sections("create").join(";\n"),
            finish: sections("finish"),
            tables: (1..=self.options.tables).map(|n| format!("sbtest{n}")).collect(),
        }
    }

    fn load_unit(&self) -> &'static str {
        "rows"
    }

    fn load_tasks(&self) -> Vec<LoadTask> {
        load::tasks(&self.options)
    }

    async fn load<S: Session>(&self, task: &LoadTask, session: &mut S) -> Result<(), Failure> {
        load::load(&self.options, self.seed, task, session).await
    }

    fn checks(&self) -> Vec<Check> {
        let titles = [
            ("text", "c and pad have sysbench's format"),
            ("index", "the index on k agrees with its table"),
        ];
        (1..=self.options.tables)
            .flat_map(|n| titles.map(|(name, title)| (n, name, title)))
            .flat_map(|(n, name, title)| {
                let sql = self.file.section(&format!("check_{name}"), &[("n", n.to_string())]);
                sql.into_iter().map(move |sql| Check {
                    clause: format!("sbtest{n}.{name}"),
                    title: title.to_string(),
                    sql,
                })
            })
            .collect()
    }
}
