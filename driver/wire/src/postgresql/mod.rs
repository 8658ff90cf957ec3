//! PostgreSQL's frontend/backend protocol, version 3 (manual, part "Frontend/Backend Protocol"). One statement is one
//! send (Bind, Execute, Sync) and, as a rule, one receive; rows that nobody reads are skipped by their length headers.

mod auth;
mod message;
mod startup;

use std::rc::Rc;

use dyno_core::plan::Target;
use dyno_core::session::{Failure, ServerError, Session, Statement, StatementId, StatementKind, Value};

use crate::failures::{garbage, lost};
use crate::input::Input;
use crate::pipeline::{Frame, Pipeline};
use crate::rows::Rows;
use crate::socket::Socket;
use crate::{ConnectError, Runtime, Wire};
use message::{Prepared, message, once, server_error, sync, tag_kind, tag_rows, text, without_sync};

/// The port that servers listen on by default.
pub const PORT: u16 = 5432;
/// COPY data is sent in messages of about this size.
const COPY_BYTES: usize = 64 * 1024;
/// Longest message that we accept: anything longer is not this protocol.
const MESSAGE_BYTES_MAX: usize = 256 * 1024 * 1024;

/// One connection.
pub struct Connection {
    socket: Socket,
    out: Vec<u8>,
    input: Input,
    /// Bytes of a skipped row that have not arrived yet.
    skip: usize,
    statements: Vec<Prepared>,
    rows: Rows,
    first_sent_ns: Option<u64>,
    counts: [u64; 3],
    /// Transaction status of the last ReadyForQuery: idle, in a transaction, failed.
    status: u8,
    pipeline: Pipeline,
    /// The prepared COMMIT, where the workload has one.
    commit: Option<StatementId>,
}

/// Keeps one DataRow; `None` when it is shorter than it says.
fn keep_row(rows: &mut Rows, body: &[u8]) -> Option<()> {
    let columns = u16::from_be_bytes(*body.first_chunk()?) as usize;
    let mut at = 2;
    for _ in 0..columns {
        let length = i32::from_be_bytes(*body.get(at..)?.first_chunk()?);
        at += 4;
        if length < 0 {
            rows.null();
        } else {
            rows.text(body.get(at..at + length as usize)?);
            at += length as usize;
        }
    }
    rows.end(columns);
    Some(())
}

/// Class of an SQLSTATE (manual, "PostgreSQL Error Codes").
pub fn error_class(code: &str) -> &'static str {
    match code {
        "40001" => "serialization",
        "40P01" => "deadlock",
        "23505" => "duplicate_key",
        "53100" => "disk_full",
        "53300" => "too_many_connections",
        "57P01" | "57P02" | "57P03" => "lost",
        _ if code.starts_with("08") => "lost",
        _ if code.starts_with("28") => "auth",
        _ => "sql",
    }
}

fn failure(error: ServerError) -> Failure {
    match error_class(&error.code) {
        "serialization" | "deadlock" => Failure::Retry(error),
        "lost" => Failure::Lost(format!("{} ({})", error.message, error.code)),
        _ => Failure::Fatal(error),
    }
}

/// What became of a statement.
struct Completion {
    rows: u64,
    kind: StatementKind,
}

/// A whole message in the input buffer.
struct Received {
    tag: u8,
    start: usize,
    end: usize,
}

impl Connection {
    /// Sends the output buffer.
    #[inline]
    async fn flush(&mut self) -> Result<(), Failure> {
        if self.first_sent_ns.is_none() {
            self.first_sent_ns = Some(self.socket.now_ns());
        }
        self.socket.send(&self.out).await.map_err(|error| lost(&error))
    }

    /// Takes the next message out of the buffer; rows are stepped over unless `keep`.
    #[inline]
    fn next_message(&mut self, keep: bool) -> Result<Option<Received>, Failure> {
        loop {
            if self.skip > 0 {
                let step = self.skip.min(self.input.unread().len());
                self.input.take(step);
                self.skip -= step;
            }
            let Some(header) = self.input.unread().first_chunk::<5>() else {
                return Ok(None);
            };
            let tag = header[0];
            let length = u32::from_be_bytes([header[1], header[2], header[3], header[4]]) as usize;
            if !(4..=MESSAGE_BYTES_MAX).contains(&length) {
                return Err(garbage("a message of impossible length"));
            }
            let whole = length + 1;
            if tag == b'D' && !keep {
                self.skip = whole;
                continue;
            }
            if self.input.unread().len() < whole {
                return Ok(None);
            }
            let start = self.input.take(whole);
            return Ok(Some(Received {
                tag,
                start: start + 5,
                end: start + whole,
            }));
        }
    }

    /// Waits for more input.
    #[inline]
    async fn fill(&mut self) -> Result<(), Failure> {
        self.input.fill(&mut self.socket).await.map_err(|error| lost(&error))
    }

    /// The next message, waiting for it.
    async fn receive(&mut self) -> Result<Received, Failure> {
        loop {
            if let Some(received) = self.next_message(true)? {
                return Ok(received);
            }
            self.fill().await?;
        }
    }

    fn body(&self, received: &Received) -> &[u8] {
        self.input.taken(received.start, received.end)
    }

    /// Reads until the server is ready for the next query.
    #[inline]
    async fn complete(&mut self, keep: bool) -> Result<Completion, Failure> {
        self.complete_of(keep, usize::MAX).await
    }

    /// As `complete`; what became of statement `own` of those sent together, of the last one if there are fewer.
    #[inline]
    async fn complete_of(&mut self, keep: bool, own: usize) -> Result<Completion, Failure> {
        let mut number = 0;
        let mut completion = Completion {
            rows: 0,
            kind: StatementKind::Other,
        };
        let mut failed: Option<Failure> = None;
        loop {
            while let Some(received) = self.next_message(keep)? {
                match received.tag {
                    b'2' => {}
                    b'C' => {
                        if number <= own {
                            let tag = self.input.taken(received.start, received.end);
                            completion = Completion {
                                rows: tag_rows(tag),
                                kind: tag_kind(tag),
                            };
                        }
                        number += 1;
                    }
                    b'Z' => {
                        self.status = *self.body(&received).first().unwrap_or(&b'I');
                        return failed.map_or(Ok(completion), Err);
                    }
                    b'D' => {
                        let body = self.input.taken(received.start, received.end);
                        keep_row(&mut self.rows, body).ok_or_else(|| garbage("a row shorter than its columns"))?;
                    }
                    b'T' => self.rows.clear(),
                    b'E' => failed = self.failed(failed, &received)?,
                    // A workload's statement asked for COPY data by itself: refuse, and the server reports an error.
                    b'G' => self.refuse_copy().await?,
                    // ParseComplete, CloseComplete, NoData, EmptyQuery, Notice, ParameterStatus, Notification, COPY OUT.
                    b'1' | b'3' | b'n' | b'I' | b'N' | b'S' | b'A' | b't' | b'H' | b'd' | b'c' | b's' => {}
                    other => return Err(garbage(&format!("message type {:?}", other as char))),
                }
            }
            self.fill().await?;
        }
    }

    #[cold]
    fn failed(&self, earlier: Option<Failure>, received: &Received) -> Result<Option<Failure>, Failure> {
        let now = failure(server_error(self.body(received)));
        // After a FATAL error nothing follows; waiting for ReadyForQuery would end in "connection closed".
        if matches!(now, Failure::Lost(_)) {
            return Err(now);
        }
        Ok(Some(earlier.unwrap_or(now)))
    }

    #[cold]
    async fn refuse_copy(&mut self) -> Result<(), Failure> {
        self.out.clear();
        message(&mut self.out, b'f', |out| text(out, "COPY is for bulk_load only"));
        self.flush().await
    }

    /// Why the server hung up while we were sending: it may have said so before it went (a full disk, a crash).
    async fn last_words(&mut self, lost: Failure) -> Failure {
        while let Ok(received) = self.receive().await {
            if received.tag == b'E' {
                return failure(server_error(self.body(&received)));
            }
        }
        lost
    }

    #[inline]
    fn count(&mut self, kind: StatementKind, rows: u64) {
        // As sysbench counts: a write that changed no row is neither a read nor a write.
        let index = match kind {
            StatementKind::Read => 0,
            StatementKind::Write if rows > 0 => 1,
            _ => 2,
        };
        self.counts[index] += 1;
    }

    #[inline]
    async fn run(&mut self, id: StatementId, values: &[Value<'_>], keep: bool) -> Result<u64, Failure> {
        let kind = self.statements[id].kind;
        if self.pipeline.on {
            let rows = self.run_framed(id, values, keep).await?;
            self.count(kind, rows);
            return Ok(rows);
        }
        self.out.clear();
        self.statements[id].encode(&mut self.out, values);
        self.flush().await?;
        let completion = self.complete(keep).await?;
        self.count(kind, completion.rows);
        Ok(completion.rows)
    }

    /// Runs a statement with what of its transaction's frame goes with it. All of it is before one Sync: the server skips
    /// what follows a failure, so that nothing is done outside of the transaction and nothing of a failed one is committed.
    async fn run_framed(&mut self, id: StatementId, values: &[Value<'_>], keep: bool) -> Result<u64, Failure> {
        let statement = &self.statements[id];
        if statement.frame == Frame::Begin {
            statement.encode(&mut self.pipeline.held, values);
            without_sync(&mut self.pipeline.held);
            return Ok(0);
        }
        if self.pipeline.is_done(statement.frame) {
            return Ok(0);
        }
        self.out.clear();
        let own = usize::from(self.pipeline.lead(&mut self.out));
        statement.encode(&mut self.out, values);
        let commits = std::mem::take(&mut self.pipeline.commit_follows);
        if commits {
            without_sync(&mut self.out);
            match self.commit {
                Some(commit) => self.statements[commit].encode(&mut self.out, &[]),
                None => {
                    once(&mut self.out, "COMMIT");
                    sync(&mut self.out);
                }
            }
        }
        self.flush().await?;
        let completion = self.complete_of(keep, own).await?;
        self.pipeline.committed = commits;
        Ok(completion.rows)
    }

    /// Sends a BEGIN that waits for a prepared statement, because something else comes.
    async fn settle(&mut self) -> Result<(), Failure> {
        self.out.clear();
        if self.pipeline.lead(&mut self.out) {
            sync(&mut self.out);
            self.flush().await?;
            self.complete(false).await?;
        }
        Ok(())
    }

    fn send_query(&mut self, sql: &str) {
        self.out.clear();
        message(&mut self.out, b'Q', |out| text(out, sql));
    }
}

impl Session for Connection {
    #[inline]
    async fn execute(&mut self, statement: StatementId, parameters: &[Value<'_>]) -> Result<u64, Failure> {
        self.run(statement, parameters, false).await
    }

    #[inline]
    async fn query(&mut self, statement: StatementId, parameters: &[Value<'_>]) -> Result<usize, Failure> {
        self.rows.clear();
        self.run(statement, parameters, true).await?;
        Ok(self.rows.count)
    }

    async fn simple(&mut self, sql: &str) -> Result<usize, Failure> {
        self.rows.clear();
        if self.pipeline.on {
            let frame = Frame::of(sql);
            if frame == Frame::Begin {
                once(&mut self.pipeline.held, sql);
            }
            if frame == Frame::Begin || self.pipeline.is_done(frame) {
                self.count(StatementKind::Other, 0);
                return Ok(0);
            }
            self.settle().await?;
        }
        self.send_query(sql);
        self.flush().await?;
        let completion = self.complete(true).await?;
        self.count(completion.kind, completion.rows);
        Ok(self.rows.count)
    }

    fn cell(&self, row: usize, column: usize) -> Option<&str> {
        self.rows.cell(row, column)
    }

    async fn bulk_load(&mut self, into: &str, produce: &mut dyn FnMut(&mut Vec<u8>) -> bool) -> Result<u64, Failure> {
        self.rows.clear();
        self.settle().await?;
        self.send_query(&format!("COPY {into} FROM STDIN"));
        self.flush().await?;
        loop {
            let received = self.receive().await?;
            match received.tag {
                b'G' => break,
                b'E' => {
                    let error = failure(server_error(self.body(&received)));
                    self.complete(false).await?;
                    return Err(error);
                }
                _ => {}
            }
        }
        let mut more = true;
        while more {
            self.out.clear();
            message(&mut self.out, b'd', |out| {
                while more && out.len() < COPY_BYTES {
                    more = produce(out);
                }
            });
            if let Err(lost) = self.flush().await {
                return Err(self.last_words(lost).await);
            }
        }
        self.out.clear();
        message(&mut self.out, b'c', |_| {});
        self.flush().await?;
        Ok(self.complete(false).await?.rows)
    }

    fn commit_follows(&mut self) {
        self.pipeline.commit_follows = self.pipeline.on;
    }

    fn first_sent_ns(&self) -> Option<u64> {
        self.first_sent_ns
    }
}

impl Wire for Connection {
    async fn connect(
        target: &Target,
        statements: Rc<[Statement]>,
        runtime: Rc<dyn Runtime>,
    ) -> Result<Connection, ConnectError> {
        startup::connect(target, &statements, runtime).await
    }

    fn pipeline(&mut self) {
        self.pipeline.on = true;
    }

    #[inline]
    fn start_transaction(&mut self) {
        self.pipeline.start();
        self.first_sent_ns = None;
    }

    #[inline]
    fn take_statement_counts(&mut self) -> [u64; 3] {
        std::mem::take(&mut self.counts)
    }

    fn in_transaction(&self) -> bool {
        self.status != b'I'
    }

    async fn begin(&mut self) -> Result<(), Failure> {
        self.simple("BEGIN").await.map(|_| ())
    }

    async fn commit(&mut self) -> Result<(), Failure> {
        self.simple("COMMIT").await.map(|_| ())
    }

    async fn rollback(&mut self) -> Result<(), Failure> {
        self.simple("ROLLBACK").await.map(|_| ())
    }

    async fn existing_tables(&mut self, names: &[String]) -> Result<Vec<String>, Failure> {
        let list: Vec<String> = names
            .iter()
            .map(|name| format!("'{}'", name.replace('\'', "''")))
            .collect();
        if list.is_empty() {
            return Ok(Vec::new());
        }
        let sql = format!(
            "SELECT name FROM unnest(ARRAY[{}]) AS t(name) WHERE to_regclass(quote_ident(name)) IS NOT NULL",
            list.join(", ")
        );
        let count = self.simple(&sql).await?;
        Ok((0..count)
            .filter_map(|row| self.cell(row, 0).map(String::from))
            .collect())
    }

    fn columns(&self) -> usize {
        self.rows.columns
    }

    fn runs_in_transaction(sql: &str) -> bool {
        !sql.trim_start().to_ascii_uppercase().starts_with("VACUUM")
    }

    async fn writes_refused(&mut self) -> Result<Option<String>, Failure> {
        self.simple("SELECT pg_is_in_recovery(), current_setting('default_transaction_read_only')")
            .await?;
        if self.cell(0, 0) == Some("t") {
            return Ok(Some("the server is a standby (pg_is_in_recovery() is true)".into()));
        }
        let read_only = self.cell(0, 1) == Some("on");
        Ok(read_only.then(|| "the server is read-only (default_transaction_read_only is on)".into()))
    }

    fn close(&mut self) {
        self.socket.send_now(&[b'X', 0, 0, 0, 4]);
    }
}
