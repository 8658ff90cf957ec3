//! pgbench's default transaction, which is like TPC-B's (pgbench.c of version 15, "tpcb-like"), on pgbench's tables:
//! `scale` branches, 10 tellers and 100,000 accounts each.

use dyno_core::rng::Rng;
use dyno_core::session::{Failure, Session, Statement, StatementKind, Type, Value};
use dyno_core::workload::{Check, LoadTask, OptionSpec, Outcome, Schema, Settings, Workload};

use crate::schemas::{STORAGE_ENGINE, SqlFile};

const ACCOUNTS: u32 = 100_000;
const TELLERS: u32 = 10;
/// Above, account numbers would leave the 32-bit integers that pgbench uses for them.
const SCALE_MAX: u32 = 20_000;

pub const OPTIONS: &[OptionSpec] = &[STORAGE_ENGINE];

pub struct Tpcb {
    scale: u32,
    seed: u64,
    file: SqlFile,
    storage_engine: String,
}

/// The values of one transaction.
pub struct Input {
    aid: i32,
    bid: i32,
    tid: i32,
    delta: i32,
}

const BEGIN: usize = 0;
const UPDATE_ACCOUNT: usize = 1;
const SELECT_ACCOUNT: usize = 2;
const UPDATE_TELLER: usize = 3;
const UPDATE_BRANCH: usize = 4;
const INSERT_HISTORY: usize = 5;
const END: usize = 6;
const STATEMENTS: [(&str, usize, StatementKind); 7] = [
    ("BEGIN", 0, StatementKind::Other),
    (
        "UPDATE pgbench_accounts SET abalance = abalance + $1 WHERE aid = $2",
        2,
        StatementKind::Write,
    ),
    (
        "SELECT abalance FROM pgbench_accounts WHERE aid = $1",
        1,
        StatementKind::Read,
    ),
    (
        "UPDATE pgbench_tellers SET tbalance = tbalance + $1 WHERE tid = $2",
        2,
        StatementKind::Write,
    ),
    (
        "UPDATE pgbench_branches SET bbalance = bbalance + $1 WHERE bid = $2",
        2,
        StatementKind::Write,
    ),
    (
        "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES ($1, $2, $3, $4, CURRENT_TIMESTAMP)",
        4,
        StatementKind::Write,
    ),
    // pgbench says END, which only its own server knows; it means the same.
    ("COMMIT", 0, StatementKind::Other),
];

impl Workload for Tpcb {
    type Client = Rng;
    type Input = Input;

    fn new(settings: &Settings) -> Result<Self, String> {
        if !(1..=SCALE_MAX).contains(&settings.scale) {
            return Err(format!(
                "scale: 1 to {SCALE_MAX} branches are possible, got {}",
                settings.scale
            ));
        }
        let file = SqlFile::find("tpcb", &settings.dialect)?;
        Ok(Tpcb {
            scale: settings.scale,
            seed: settings.seed,
            storage_engine: file.storage_engine(settings)?,
            file,
        })
    }

    fn transaction_types(&self) -> &[&'static str] {
        &["transaction"]
    }

    fn statements(&self) -> Vec<Statement> {
        STATEMENTS
            .iter()
            .map(|(sql, parameters, kind)| Statement {
                sql: (*sql).to_string(),
                parameters: vec![Type::Int; *parameters],
                kind: *kind,
            })
            .collect()
    }

    fn session(&self) -> Vec<String> {
        self.file.session(&self.storage_engine)
    }

    fn client(&self, connection: u32, _connections: u32) -> Rng {
        Rng::new(self.seed, u64::from(connection))
    }

    fn draw(&self, rng: &mut Rng) -> Input {
        let mut upto = |n: u32| rng.between(1, i64::from(n)) as i32;
        let (aid, bid, tid) = (
            upto(ACCOUNTS * self.scale),
            upto(self.scale),
            upto(TELLERS * self.scale),
        );
        Input {
            aid,
            bid,
            tid,
            delta: rng.between(-5000, 5000) as i32,
        }
    }

    fn kind(&self, _input: &Input) -> usize {
        0
    }

    async fn run<S: Session>(&self, input: &Input, session: &mut S) -> Result<Outcome, Failure> {
        let Input { aid, bid, tid, delta } = *input;
        let int = Value::Int;
        session.execute(BEGIN, &[]).await?;
        session.execute(UPDATE_ACCOUNT, &[int(delta), int(aid)]).await?;
        session.execute(SELECT_ACCOUNT, &[int(aid)]).await?;
        session.execute(UPDATE_TELLER, &[int(delta), int(tid)]).await?;
        session.execute(UPDATE_BRANCH, &[int(delta), int(bid)]).await?;
        session.commit_follows();
        session
            .execute(INSERT_HISTORY, &[int(tid), int(bid), int(aid), int(delta)])
            .await?;
        session.execute(END, &[]).await?;
        Ok(Outcome::Committed)
    }

    fn schema(&self) -> Schema {
        let tables = [
            "pgbench_history",
            "pgbench_tellers",
            "pgbench_accounts",
            "pgbench_branches",
        ];
        let values = [("storage_engine", self.storage_engine.clone())];
        Schema {
            create: self.file.section("create", &values).join(";\n"),
            finish: self.file.section("finish", &[]),
            tables: tables.map(String::from).to_vec(),
        }
    }

    fn load_unit(&self) -> &'static str {
        "branches"
    }

    fn load_tasks(&self) -> Vec<LoadTask> {
        (1..=self.scale)
            .map(|branch| LoadTask {
                name: format!("branch:{branch}"),
                weight: 1,
            })
            .collect()
    }

    async fn load<S: Session>(&self, task: &LoadTask, session: &mut S) -> Result<(), Failure> {
        let Some(branch) = task
            .name
            .strip_prefix("branch:")
            .and_then(|number| number.parse::<u32>().ok())
        else {
            unreachable!("the task {:?} is not one of ours", task.name)
        };
        let rows = |first: u32, count: u32| {
            let mut next = first;
            move |out: &mut Vec<u8>| {
                out.extend_from_slice(format!("{next}\t{branch}\t0\t\n").as_bytes());
                next += 1;
                next < first + count
            }
        };
        session
            .simple(&format!(
                "INSERT INTO pgbench_branches (bid, bbalance) VALUES ({branch}, 0)"
            ))
            .await?;
        let first = (branch - 1) * TELLERS + 1;
        let tellers: Vec<String> = (first..first + TELLERS)
            .map(|tid| format!("({tid}, {branch}, 0)"))
            .collect();
        session
            .simple(&format!(
                "INSERT INTO pgbench_tellers (tid, bid, tbalance) VALUES {}",
                tellers.join(", ")
            ))
            .await?;
        let mut accounts = rows((branch - 1) * ACCOUNTS + 1, ACCOUNTS);
        session
            .bulk_load("pgbench_accounts (aid, bid, abalance, filler)", &mut accounts)
            .await
            .map(|_| ())
    }

    fn checks(&self) -> Vec<Check> {
        let titles = [
            ("accounts", "balances of accounts and branches have the same sum"),
            ("tellers", "balances of tellers and branches have the same sum"),
            (
                "history",
                "history and branches have the same sum (pgbench empties the history when it starts)",
            ),
        ];
        titles
            .iter()
            .flat_map(|(name, title)| {
                self.file
                    .section(&format!("check_{name}"), &[])
                    .into_iter()
                    .map(|sql| Check {
                        clause: (*name).to_string(),
                        title: (*title).to_string(),
                        sql,
                    })
            })
            .collect()
    }
}
