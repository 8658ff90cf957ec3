//! A brokerage that mostly reads by secondary index, in the manner of TPC-E, which "Introducing percona-patches for
//! 5.1" (2010) used: range scans over two secondary indexes of the table of trades, and few writes that complete trades.
//! It is not TPC-E: three tables, five transactions, no claim to the audited figure. Statements and names are our own.
//!
//! Mix: trade lookup 30 %, trade status 25 %, market watch 25 %, trade order 10 %, trade result 10 %. A trade result
//! completes the oldest pending trade of its account (or one that it makes itself, when none is pending) and books it
//! on the account and on the security; the checks compare the three.

use std::collections::BTreeMap;

use dyno_core::rng::Rng;
use dyno_core::session::{Failure, Session, Statement, StatementKind, Type, Value, integer};
use dyno_core::workload::{Check, LoadTask, OptionSpec, Outcome, Schema, Settings, Workload};

use crate::schemas::SqlFile;

const ACCOUNTS_PER_SCALE: u32 = 1_000;
const SECURITIES_PER_SCALE: u32 = 500;
const TRADES_PER_ACCOUNT: u32 = 100;
const SCALE_MAX: u32 = 20_000;
/// Accounts of a load task: 20,000 trades, well under a second of work.
const TASK_ACCOUNTS: u32 = 200;
const TASK_STREAMS: u64 = 1 << 40;
/// Seconds of history that loaded trades are spread over: 300 trade days of 6.5 hours, as the article's dataset had.
const HISTORY_S: i64 = 300 * 23_400;

pub const OPTIONS: &[OptionSpec] = &[OptionSpec {
    name: "scan_rows",
    default: "50",
    help: "rows that a range scan asks for at most",
}];
const SCAN_ROWS_MAX: u32 = 10_000;

const TYPES: &[&str] = &[
    "trade_lookup",
    "trade_status",
    "market_watch",
    "trade_order",
    "trade_result",
];
/// Per cent of the mix, by transaction type.
const MIX: [i64; 5] = [30, 25, 25, 10, 10];
const TRADE_RESULT: usize = 4;

const BEGIN: usize = 0;
const COMMIT: usize = 1;
const LOOKUP: usize = 2;
const STATUS: usize = 3;
const WATCH: usize = 4;
const ORDER: usize = 5;
const PENDING: usize = 6;
const COMPLETE: usize = 7;
const COMPLETED: usize = 8;
const BOOK_ACCOUNT: usize = 9;
const BOOK_SECURITY: usize = 10;

pub struct SecondaryScan {
    scale: u32,
    scan_rows: u32,
    seed: u64,
    file: SqlFile,
}

/// The values of one transaction.
pub struct Input {
    kind: usize,
    account: i32,
    security: i32,
    /// Where a scan begins, or when the trade is made: seconds.
    at_s: i32,
    quantity: i32,
    price: i32,
}

/// One connection: its random numbers, and the time that its trades bear.
pub struct Client {
    rng: Rng,
    now_s: i32,
}

impl SecondaryScan {
    fn accounts(&self) -> u32 {
        self.scale * ACCOUNTS_PER_SCALE
    }

    fn securities(&self) -> u32 {
        self.scale * SECURITIES_PER_SCALE
    }

    async fn result<S: Session>(&self, input: &Input, session: &mut S) -> Result<(), Failure> {
        let int = Value::Int;
        session.execute(BEGIN, &[]).await?;
        if session.query(PENDING, &[int(input.account)]).await? > 0 {
            let trade = integer(session, 0, 0)?;
            let (security, quantity, amount) = (
                integer(session, 0, 1)?,
                integer(session, 0, 2)?,
                integer(session, 0, 3)?,
            );
            session.execute(COMPLETE, &[Value::BigInt(trade)]).await?;
            self.book(session, input.account, security as i32, quantity as i32, amount as i32)
                .await?;
        } else {
            let amount = input.quantity * input.price;
            session
                .execute(
                    COMPLETED,
                    &[
                        int(input.account),
                        int(input.security),
                        int(input.at_s),
                        int(input.quantity),
                        int(amount),
                    ],
                )
                .await?;
            self.book(session, input.account, input.security, input.quantity, amount)
                .await?;
        }
        session.execute(COMMIT, &[]).await.map(|_| ())
    }

    /// Account first, then security: always in this order, so that two results cannot wait for each other.
    async fn book<S: Session>(
        &self,
        session: &mut S,
        account: i32,
        security: i32,
        quantity: i32,
        amount: i32,
    ) -> Result<(), Failure> {
        let int = Value::Int;
        session.execute(BOOK_ACCOUNT, &[int(amount), int(account)]).await?;
        session
            .execute(BOOK_SECURITY, &[int(quantity), int(security)])
            .await
            .map(|_| ())
    }
}

impl Workload for SecondaryScan {
    type Client = Client;
    type Input = Input;

    fn new(settings: &Settings) -> Result<Self, String> {
        if !(1..=SCALE_MAX).contains(&settings.scale) {
            return Err(format!("scale: 1 to {SCALE_MAX} is possible, got {}", settings.scale));
        }
        let text = settings.options.get("scan_rows").map_or("", String::as_str);
        let scan_rows = text
            .parse()
            .ok()
            .filter(|rows| (1..=SCAN_ROWS_MAX).contains(rows))
            .ok_or_else(|| format!("scan_rows: 1 to {SCAN_ROWS_MAX} is possible, got {text:?}"))?;
        Ok(SecondaryScan {
            scale: settings.scale,
            scan_rows,
            seed: settings.seed,
            file: SqlFile::find("secondary_scan", &settings.dialect)?,
        })
    }

    fn transaction_types(&self) -> &[&'static str] {
        TYPES
    }

    fn statements(&self) -> Vec<Statement> {
        use StatementKind::{Other, Read, Write};
        let columns = "trade_id, security, made_s, quantity, amount, state";
        let rows = self.scan_rows;
        let made = |sql: String, parameters: &[Type], kind: StatementKind| Statement {
            sql,
            parameters: parameters.to_vec(),
            kind,
        };
        let int = |count: usize| vec![Type::Int; count];
        let insert = |state: &str| {
            format!(
                "INSERT INTO trade (account, security, made_s, quantity, amount, state) VALUES ($1, $2, $3, $4, $5, '{state}')"
            )
        };
        vec![
            made("BEGIN".into(), &[], Other),
            made("COMMIT".into(), &[], Other),
            made(
                format!("SELECT {columns} FROM trade WHERE account = $1 AND made_s >= $2 ORDER BY made_s LIMIT {rows}"),
                &int(2),
                Read,
            ),
            made(
                format!("SELECT {columns} FROM trade WHERE account = $1 ORDER BY made_s DESC LIMIT {rows}"),
                &int(1),
                Read,
            ),
            made(
                format!(
                    "SELECT count(*), sum(quantity), max(amount) FROM (SELECT quantity, amount FROM trade \
                     WHERE security = $1 AND made_s >= $2 ORDER BY made_s LIMIT {rows}) AS seen"
                ),
                &int(2),
                Read,
            ),
            made(insert("P"), &int(5), Write),
            made(
                "SELECT trade_id, security, quantity, amount FROM trade WHERE account = $1 AND state = 'P' \
                 ORDER BY made_s LIMIT 1 FOR UPDATE"
                    .into(),
                &int(1),
                Read,
            ),
            made(
                "UPDATE trade SET state = 'C' WHERE trade_id = $1".into(),
                &[Type::BigInt],
                Write,
            ),
            made(insert("C"), &int(5), Write),
            made(
                "UPDATE account SET balance = balance + $1 WHERE account = $2".into(),
                &int(2),
                Write,
            ),
            made(
                "UPDATE security SET volume = volume + $1 WHERE security = $2".into(),
                &int(2),
                Write,
            ),
        ]
    }

    fn client(&self, connection: u32, _connections: u32) -> Client {
        Client {
            rng: Rng::new(self.seed, u64::from(connection)),
            now_s: HISTORY_S as i32,
        }
    }

    fn draw(&self, client: &mut Client) -> Input {
        let rng = &mut client.rng;
        let mut point = rng.between(1, 100);
        let kind = MIX
            .iter()
            .position(|share| {
                point -= share;
                point <= 0
            })
            .expect("the mix sums to 100");
        client.now_s += 1;
        Input {
            kind,
            account: rng.between(1, i64::from(self.accounts())) as i32,
            security: rng.between(1, i64::from(self.securities())) as i32,
            at_s: if kind < 3 {
                rng.between(0, HISTORY_S) as i32
            } else {
                client.now_s
            },
            quantity: rng.between(1, 800) as i32,
            price: rng.between(1_000, 9_000) as i32,
        }
    }

    fn kind(&self, input: &Input) -> usize {
        input.kind
    }

    async fn run<S: Session>(&self, input: &Input, session: &mut S) -> Result<Outcome, Failure> {
        let int = Value::Int;
        match TYPES[input.kind] {
            "trade_lookup" => session
                .execute(LOOKUP, &[int(input.account), int(input.at_s)])
                .await
                .map(|_| ())?,
            "trade_status" => session.execute(STATUS, &[int(input.account)]).await.map(|_| ())?,
            "market_watch" => session
                .execute(WATCH, &[int(input.security), int(input.at_s)])
                .await
                .map(|_| ())?,
            "trade_order" => {
                let amount = input.quantity * input.price;
                session
                    .execute(
                        ORDER,
                        &[
                            int(input.account),
                            int(input.security),
                            int(input.at_s),
                            int(input.quantity),
                            int(amount),
                        ],
                    )
                    .await
                    .map(|_| ())?;
            }
            _ => self.result(input, session).await?,
        }
        Ok(Outcome::Committed)
    }

    fn dataset_options() -> Option<&'static [&'static str]> {
        Some(&[])
    }

    fn schema(&self) -> Schema {
        Schema {
            create: self.file.section("create", &[]).join(";\n"),
            finish: self.file.section("finish", &[]),
            tables: ["trade", "account", "security"].map(String::from).to_vec(),
        }
    }

    fn load_unit(&self) -> &'static str {
        "accounts"
    }

    fn load_tasks(&self) -> Vec<LoadTask> {
        let accounts = self.accounts();
        let of_accounts = (0..accounts.div_ceil(TASK_ACCOUNTS)).map(|task| {
            let (first, last) = (task * TASK_ACCOUNTS + 1, accounts.min((task + 1) * TASK_ACCOUNTS));
            LoadTask {
                name: format!("accounts:{first}-{last}"),
                weight: u64::from(last - first + 1),
            }
        });
        let securities = LoadTask {
            name: format!("securities:1-{}", self.securities()),
            weight: 1,
        };
        std::iter::once(securities).chain(of_accounts).collect()
    }

    async fn load<S: Session>(&self, task: &LoadTask, session: &mut S) -> Result<(), Failure> {
        let parts = task.name.split_once(':').and_then(|(what, range)| {
            let (first, last) = range.split_once('-')?;
            Some((what, first.parse::<u32>().ok()?, last.parse::<u32>().ok()?))
        });
        let Some((what, first, last)) = parts else {
            unreachable!("the task {:?} is not one of ours", task.name)
        };
        let mut next = first;
        let into = if what == "securities" {
            "security (security, volume)"
        } else {
            "account (account, balance)"
        };
        session
            .bulk_load(into, &mut |out: &mut Vec<u8>| {
                out.extend_from_slice(format!("{next}\t0\n").as_bytes());
                next += 1;
                next <= last
            })
            .await?;
        if what == "securities" {
            return Ok(());
        }
        let mut rng = Rng::new(self.seed, TASK_STREAMS + u64::from(first));
        let (mut account, mut trade) = (first, 0);
        session
            .bulk_load(
                "trade (trade_id, account, security, made_s, quantity, amount, state)",
                &mut |out| {
                    let id = u64::from(account - 1) * u64::from(TRADES_PER_ACCOUNT) + u64::from(trade) + 1;
                    let security = rng.between(1, i64::from(self.securities()));
                    let (made_s, quantity) = (rng.between(0, HISTORY_S), rng.between(1, 800));
                    let amount = quantity * rng.between(1_000, 9_000);
                    out.extend_from_slice(
                        format!("{id}\t{account}\t{security}\t{made_s}\t{quantity}\t{amount}\tC\n").as_bytes(),
                    );
                    (account, trade) = if trade + 1 < TRADES_PER_ACCOUNT {
                        (account, trade + 1)
                    } else {
                        (account + 1, 0)
                    };
                    account <= last
                },
            )
            .await
            .map(|_| ())
    }

    fn checks(&self) -> Vec<Check> {
        [
            ("balance", "each account's balance is the sum of its completed trades"),
            ("volume", "each security's volume is the sum of its completed trades"),
            (
                "state",
                "each trade is pending or completed, of an account and a security that exist",
            ),
        ]
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

    /// The article's figure: completed trade results in ten seconds.
    fn figures(&self, counts: &[u64], _rolled_back: &[u64], seconds: f64) -> BTreeMap<String, f64> {
        let results = counts.get(TRADE_RESULT).copied().unwrap_or_default() as f64;
        BTreeMap::from([(
            "trade_results_per_10_s".to_string(),
            if seconds > 0.0 { results * 10.0 / seconds } else { 0.0 },
        )])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(scan_rows: &str) -> Result<SecondaryScan, String> {
        SecondaryScan::new(&Settings {
            scale: 2,
            options: BTreeMap::from([("scan_rows".to_string(), scan_rows.to_string())]),
            dialect: crate::schemas::NULL_DIALECT.into(),
            seed: 1,
        })
    }

    #[test]
    fn the_mix_is_as_documented() {
        assert_eq!(MIX.iter().sum::<i64>(), 100);
        let workload = made("50").unwrap();
        let mut client = workload.client(0, 1);
        let mut counts = [0_i64; 5];
        for _ in 0..50_000 {
            let input = workload.draw(&mut client);
            assert!((1..=2_000).contains(&input.account) && (1..=1_000).contains(&input.security));
            counts[input.kind] += 1;
        }
        for (count, share) in counts.iter().zip(MIX) {
            assert!((count - share * 500).abs() < 600, "{counts:?}");
        }
    }

    #[test]
    fn amounts_fit_into_32_bits() {
        assert!(800_i64 * 9_000 < i64::from(i32::MAX));
    }

    #[test]
    fn trade_results_are_counted_for_ten_seconds() {
        let figures = made("50").unwrap().figures(&[0, 0, 0, 0, 120], &[0; 5], 60.0);
        assert_eq!(figures["trade_results_per_10_s"], 20.0);
    }

    #[test]
    fn an_impossible_option_is_refused() {
        assert!(made("0").err().unwrap_or_default().starts_with("scan_rows"));
    }
}
