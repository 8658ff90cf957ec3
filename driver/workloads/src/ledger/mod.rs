//! The ledger: transactions of which every trace can be foretold, for the proof that none is lost when the power is.
//!
//! Each transaction has a client and a number, and leaves a row in the journal together with its effects: rows of
//! several sizes (`insert`), money moved between accounts (`transfer`), a row longer than a page rewritten (`update`),
//! rows of an earlier transaction removed (`delete`). The journal says which transactions are there; replaying it gives
//! every other row, to the letter. See docs/reference/workload-ledger.md.

mod log;
mod payload;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use dyno_core::rng::Rng;
use dyno_core::session::{Failure, Session, Statement, StatementKind, Type, Value, integer};
use dyno_core::workload::{Check, LoadTask, OptionSpec, Outcome, Schema, Settings, Workload};

use self::log::Log;
use self::payload::payload;
use crate::schemas::SqlFile;

pub const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        name: "accounts",
        default: "4000",
        help: "accounts, times scale",
    },
    OptionSpec {
        name: "pages",
        default: "64",
        help: "rows longer than a page, shared out among the connections",
    },
    OptionSpec {
        name: "keep",
        default: "100",
        help: "inserts of a connection that are not deleted yet",
    },
    OptionSpec {
        name: "ack_file",
        default: "",
        help: "file that gets every acknowledgement",
    },
    OptionSpec {
        name: "stamp_file",
        default: "",
        help: "page of a recording disk that stamps them",
    },
];

/// What each account begins with.
const OPENING: i64 = 1000;
const ACCOUNTS_MAX: u64 = 10_000_000;
const PAGES_MAX: u64 = 100_000;
const FILLER_BLOCKS: i64 = 12;
/// Blocks of a long row: from 9.6 kB, more than a page of eight, to 22 kB, more than one of sixteen.
const PAGE_BLOCKS: (i64, i64) = (600, 1400);
const ENTRY_BLOCKS: (i64, i64) = (4, 16);
const ENTRY_ROWS: (i64, i64) = (2, 8);
/// Rows of one statement of the load.
const LOAD_ROWS: usize = 200;

const BEGIN: usize = 0;
const COMMIT: usize = 1;
const LAST: usize = 2;
const JOURNAL: usize = 3;
const ENTRY: usize = 4;
const DELETE: usize = 5;
const MOVE: usize = 6;
const PAGE: usize = 7;
const STATEMENTS: [(&str, &[Type], StatementKind); 8] = [
    ("BEGIN", &[], StatementKind::Other),
    ("COMMIT", &[], StatementKind::Other),
    (
        "SELECT coalesce(max(seq), 0) FROM ledger_journal WHERE client = $1",
        &[Type::Int],
        StatementKind::Read,
    ),
    (
        "INSERT INTO ledger_journal (client, seq, kind, a, b, amount) VALUES ($1, $2, $3, $4, $5, $6)",
        &[
            Type::Int,
            Type::BigInt,
            Type::Int,
            Type::BigInt,
            Type::BigInt,
            Type::BigInt,
        ],
        StatementKind::Write,
    ),
    (
        "INSERT INTO ledger_entry (client, seq, part, payload) VALUES ($1, $2, $3, $4)",
        &[Type::Int, Type::BigInt, Type::Int, Type::Text],
        StatementKind::Write,
    ),
    (
        "DELETE FROM ledger_entry WHERE client = $1 AND seq = $2",
        &[Type::Int, Type::BigInt],
        StatementKind::Write,
    ),
    (
        "UPDATE ledger_account SET balance = balance + $1 WHERE id = $2",
        &[Type::BigInt, Type::Int],
        StatementKind::Write,
    ),
    (
        "UPDATE ledger_page SET client = $1, seq = $2, body = $3 WHERE id = $4",
        &[Type::Int, Type::BigInt, Type::Text, Type::Int],
        StatementKind::Write,
    ),
];

/// The transaction types; their numbers stand in the journal.
const KINDS: [&str; 4] = ["insert", "transfer", "update", "delete"];

pub struct Ledger {
    accounts: i64,
    pages: i64,
    keep: usize,
    seed: u64,
    file: SqlFile,
    log: Rc<Log>,
}

/// One connection: its number, the number of its last transaction, what it may delete.
pub struct Client {
    rng: Rng,
    state: Rc<RefCell<State>>,
    accounts: i64,
    pages: Vec<i64>,
    keep: usize,
}

#[derive(Debug, Default)]
struct State {
    client: i32,
    /// `None` until the server was asked.
    last: Option<i64>,
    inserted: VecDeque<i64>,
}

/// A transaction before it has a number: every attempt gets one of its own, so that an attempt whose end is unknown
/// and its repetition are told apart.
pub struct Input {
    state: Rc<RefCell<State>>,
    kind: usize,
    a: i64,
    b: i64,
    amount: i64,
}

fn option(settings: &Settings, name: &str, most: u64) -> Result<i64, String> {
    let text = settings.options.get(name).map_or("", String::as_str);
    match text.parse::<u64>() {
        Ok(number) if (2..=most).contains(&number) => Ok(number as i64),
        _ => Err(format!("{name}: a number from 2 to {most} is needed, got {text:?}")),
    }
}

impl Workload for Ledger {
    type Client = Client;
    type Input = Input;

    fn new(settings: &Settings) -> Result<Self, String> {
        let word = |name: &str| settings.options.get(name).map_or("", String::as_str);
        let accounts = option(settings, "accounts", ACCOUNTS_MAX)? * i64::from(settings.scale);
        if accounts > ACCOUNTS_MAX as i64 {
            return Err(format!(
                "accounts: {ACCOUNTS_MAX} are possible, got {accounts} with the scale"
            ));
        }
        Ok(Ledger {
            accounts,
            pages: option(settings, "pages", PAGES_MAX)?,
            keep: option(settings, "keep", 1 << 30)? as usize,
            seed: settings.seed,
            file: SqlFile::find("ledger", &settings.dialect)?,
            log: Rc::new(Log::open(word("ack_file"), word("stamp_file"))?),
        })
    }

    fn dataset_options() -> Option<&'static [&'static str]> {
        Some(&["accounts", "pages"])
    }

    fn transaction_types(&self) -> &[&'static str] {
        &KINDS
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

    fn session(&self) -> Vec<String> {
        self.file.section("session", &[])
    }

    fn client(&self, connection: u32, connections: u32) -> Client {
        let state = State {
            client: connection as i32 + 1,
            ..State::default()
        };
        Client {
            rng: Rng::new(self.seed, u64::from(connection)),
            state: Rc::new(RefCell::new(state)),
            accounts: self.accounts,
            pages: (i64::from(connection) + 1..=self.pages)
                .step_by(connections.max(1) as usize)
                .collect(),
            keep: self.keep,
        }
    }

    fn draw(&self, client: &mut Client) -> Input {
        let rng = &mut client.rng;
        let oldest = {
            let state = client.state.borrow();
            let many = state.inserted.len() >= client.keep;
            state.inserted.front().copied().filter(|_| many)
        };
        let (kind, a, b, amount) = match (rng.between(1, 100), oldest) {
            (1..=45, Some(seq)) if rng.between(0, 1) == 0 => (3, seq, 0, 0),
            (46..=80, _) => {
                let from = rng.between(1, client.accounts);
                let to = 1 + (from - 1 + rng.between(1, client.accounts - 1)) % client.accounts;
                (1, from, to, rng.between(1, 100))
            }
            (81..=100, _) if !client.pages.is_empty() => {
                let page = client.pages[rng.between(0, client.pages.len() as i64 - 1) as usize];
                (2, page, rng.between(PAGE_BLOCKS.0, PAGE_BLOCKS.1), 0)
            }
            _ => (
                0,
                rng.between(ENTRY_ROWS.0, ENTRY_ROWS.1),
                rng.between(ENTRY_BLOCKS.0, ENTRY_BLOCKS.1),
                0,
            ),
        };
        Input {
            state: client.state.clone(),
            kind,
            a,
            b,
            amount,
        }
    }

    fn kind(&self, input: &Input) -> usize {
        input.kind
    }

    async fn run<S: Session>(&self, input: &Input, session: &mut S) -> Result<Outcome, Failure> {
        let client = input.state.borrow().client;
        let last = input.state.borrow().last;
        let last = match last {
            Some(last) => last,
            // Numbers go on where an earlier run ended.
            None => match session.query(LAST, &[Value::Int(client)]).await? {
                0 => 0,
                _ => integer(session, 0, 0)?,
            },
        };
        let seq = last + 1;
        input.state.borrow_mut().last = Some(seq);
        let Input { kind, a, b, amount, .. } = *input;
        self.log.write(&format!(
            "\"e\":\"sent\",\"c\":{client},\"n\":{seq},\"k\":\"{}\",\"a\":{a},\"b\":{b},\"m\":{amount}",
            KINDS[kind]
        ))?;
        session.execute(BEGIN, &[]).await?;
        effects(input, client, seq, session).await?;
        let journal = [
            Value::Int(client),
            Value::BigInt(seq),
            Value::Int(kind as i32 + 1),
            Value::BigInt(a),
            Value::BigInt(b),
            Value::BigInt(amount),
        ];
        session.execute(JOURNAL, &journal).await?;
        session.execute(COMMIT, &[]).await?;
        self.log.write(&format!("\"e\":\"ack\",\"c\":{client},\"n\":{seq}"))?;
        let mut state = input.state.borrow_mut();
        match kind {
            0 => state.inserted.push_back(seq),
            3 => drop(state.inserted.pop_front()),
            _ => {}
        }
        Ok(Outcome::Committed)
    }

    fn schema(&self) -> Schema {
        let tables = ["ledger_page", "ledger_entry", "ledger_journal", "ledger_account"];
        Schema {
            create: self.file.section("create", &[]).join(";\n"),
            finish: self.file.section("finish", &[]),
            tables: tables.map(String::from).to_vec(),
        }
    }

    fn load_unit(&self) -> &'static str {
        "rows"
    }

    fn load_tasks(&self) -> Vec<LoadTask> {
        [("accounts", self.accounts), ("pages", self.pages)]
            .map(|(name, rows)| LoadTask {
                name: name.to_string(),
                weight: rows as u64,
            })
            .to_vec()
    }

    async fn load<S: Session>(&self, task: &LoadTask, session: &mut S) -> Result<(), Failure> {
        let accounts = task.name == "accounts";
        let into = if accounts {
            "ledger_account (id, balance, filler)"
        } else {
            "ledger_page (id, client, seq, body)"
        };
        let row = |id: i64| {
            if accounts {
                format!("({id}, {OPENING}, '{}')", payload(0, 0, id, FILLER_BLOCKS))
            } else {
                format!("({id}, 0, 0, '{}')", payload(0, 0, id, PAGE_BLOCKS.0))
            }
        };
        let ids: Vec<i64> = (1..=if accounts { self.accounts } else { self.pages }).collect();
        for part in ids.chunks(if accounts { LOAD_ROWS } else { 8 }) {
            let rows: Vec<String> = part.iter().copied().map(row).collect();
            session
                .simple(&format!("INSERT INTO {into} VALUES {}", rows.join(", ")))
                .await?;
        }
        Ok(())
    }

    fn checks(&self) -> Vec<Check> {
        let titles = [
            ("sum", "no money was made or lost"),
            ("accounts", "balances are what the journal's transfers make them"),
            (
                "entries",
                "each insert of the journal has all its rows, or none once deleted",
            ),
            ("orphans", "each row belongs to an insert of the journal"),
            ("pages", "each long row belongs to an update of the journal"),
        ];
        let opening = [("opening", OPENING.to_string())];
        titles
            .iter()
            .flat_map(|(name, title)| {
                self.file
                    .section(&format!("check_{name}"), &opening)
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

/// What the transaction does besides its line in the journal.
async fn effects<S: Session>(input: &Input, client: i32, seq: i64, session: &mut S) -> Result<(), Failure> {
    let Input { kind, a, b, amount, .. } = *input;
    match kind {
        0 => {
            for part in 1..=a {
                let text = payload(i64::from(client), seq, part, b);
                let values = [
                    Value::Int(client),
                    Value::BigInt(seq),
                    Value::Int(part as i32),
                    Value::Text(&text),
                ];
                session.execute(ENTRY, &values).await?;
            }
        }
        1 => {
            // In the order of the accounts, so that two transfers do not wait for each other.
            let mut moves = [(a, -amount), (b, amount)];
            moves.sort_unstable();
            for (account, amount) in moves {
                session
                    .execute(MOVE, &[Value::BigInt(amount), Value::Int(account as i32)])
                    .await?;
            }
        }
        2 => {
            let text = payload(i64::from(client), seq, a, b);
            let values = [
                Value::Int(client),
                Value::BigInt(seq),
                Value::Text(&text),
                Value::Int(a as i32),
            ];
            session.execute(PAGE, &values).await?;
        }
        _ => {
            session.execute(DELETE, &[Value::Int(client), Value::BigInt(a)]).await?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn ledger(change: (&str, &str)) -> Result<Ledger, String> {
        let mut options: BTreeMap<String, String> = OPTIONS
            .iter()
            .map(|option| (option.name.to_string(), option.default.to_string()))
            .collect();
        options.insert(change.0.to_string(), change.1.to_string());
        Ledger::new(&Settings {
            scale: 1,
            options,
            dialect: crate::schemas::NULL_DIALECT.to_string(),
            seed: 7,
        })
    }

    #[test]
    fn connections_share_no_page() {
        let ledger = ledger(("pages", "10")).unwrap();
        let mut pages: Vec<i64> = (0..4).flat_map(|number| ledger.client(number, 4).pages).collect();
        pages.sort_unstable();
        assert_eq!(pages, (1..=10).collect::<Vec<i64>>());
    }

    #[test]
    fn transfers_stay_among_the_accounts() {
        let ledger = ledger(("accounts", "3")).unwrap();
        let mut client = ledger.client(0, 1);
        for _ in 0..1000 {
            let input = ledger.draw(&mut client);
            if input.kind == 1 {
                assert_ne!(input.a, input.b);
                assert!((1..=3).contains(&input.a) && (1..=3).contains(&input.b));
            }
        }
    }

    #[test]
    fn only_what_was_inserted_is_deleted() {
        let ledger = ledger(("keep", "2")).unwrap();
        let mut client = ledger.client(0, 1);
        assert!((0..1000).all(|_| ledger.draw(&mut client).kind != 3));
        client.state.borrow_mut().inserted.extend([5, 9]);
        let deleted: Vec<i64> = (0..100)
            .map(|_| ledger.draw(&mut client))
            .filter(|input| input.kind == 3)
            .map(|input| input.a)
            .collect();
        assert!(!deleted.is_empty() && deleted.iter().all(|&seq| seq == 5));
    }

    #[test]
    fn mistakes_are_explained() {
        let message = ledger(("pages", "1")).err().unwrap_or_default();
        assert_eq!(message, "pages: a number from 2 to 100000 is needed, got \"1\"");
    }
}
