//! The client/server protocol of MySQL and MariaDB. One statement is one send and, as a rule, one receive; rows that
//! nobody reads are skipped by their length headers.

mod auth;
mod bulk;
mod errors;
mod framing;
mod packet;
mod startup;
mod statement;

use std::rc::Rc;

use dyno_core::plan::Target;
use dyno_core::session::{Failure, Session, Statement, StatementId, StatementKind, Value};

use crate::failures::{garbage, lost};
use crate::input::Input;
use crate::pipeline::{Frame, Pipeline};
use crate::rows::Rows;
use crate::socket::Socket;
use crate::{ConnectError, Runtime, Wire};
use packet::{COM_QUERY, Cursor, Done, capability, query, server_error};
use statement::{Prepared, keep_binary, keep_text};

pub use errors::error_class;

/// The port that servers listen on by default.
pub const PORT: u16 = 3306;
const COM_QUIT: u8 = 1;
/// Errors that say that a step of a schema was done before: index, foreign key, table.
const DONE_BEFORE: [&str; 4] = ["1050", "1061", "1826", "121"];

/// One connection.
pub struct Connection {
    socket: Socket,
    out: Vec<u8>,
    input: Input,
    /// Bytes of a skipped row that have not arrived yet.
    skip: usize,
    capabilities: u64,
    statements: Vec<Prepared>,
    rows: Rows,
    first_sent_ns: Option<u64>,
    counts: [u64; 3],
    /// Status flags of the last OK or EOF.
    status: u16,
    pipeline: Pipeline,
}

/// A payload in the input buffer.
#[derive(Clone, Copy)]
struct Span {
    start: usize,
    end: usize,
    sequence: u8,
}

/// What became of a statement.
#[derive(Clone, Copy, Default)]
struct Completion {
    /// Rows changed or returned.
    rows: u64,
    has_rows: bool,
}

/// Whose rows come: of a prepared statement in binary form, or of SQL as text.
#[derive(Clone, Copy)]
enum Rowset {
    Skip,
    Binary(StatementId),
    Text,
}

impl Connection {
    fn has(&self, capability: u64) -> bool {
        self.capabilities & capability != 0
    }

    /// Sends the output buffer.
    #[inline]
    async fn flush(&mut self) -> Result<(), Failure> {
        if self.first_sent_ns.is_none() {
            self.first_sent_ns = Some(self.socket.now_ns());
        }
        self.socket.send(&self.out).await.map_err(|error| lost(&error))
    }

    #[inline]
    async fn fill(&mut self) -> Result<(), Failure> {
        self.input.fill(&mut self.socket).await.map_err(|error| lost(&error))
    }

    /// Takes the next packet, when all of it has come.
    #[inline]
    fn next_packet(&mut self) -> Result<Option<Span>, Failure> {
        let unread = self.input.unread();
        let Some(header) = unread.first_chunk::<4>() else {
            return Ok(None);
        };
        let length = u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize;
        if length == packet::PAYLOAD_BYTES_MAX {
            return Err(garbage("a packet of 16 MiB or more"));
        }
        if unread.len() < 4 + length {
            return Ok(None);
        }
        let sequence = header[3];
        let start = self.input.take(4 + length);
        Ok(Some(Span {
            start: start + 4,
            end: start + 4 + length,
            sequence,
        }))
    }

    /// The next packet, waiting for it.
    #[inline]
    async fn receive(&mut self) -> Result<Span, Failure> {
        loop {
            if let Some(span) = self.next_packet()? {
                return Ok(span);
            }
            self.fill().await?;
        }
    }

    #[inline]
    fn payload(&self, span: Span) -> &[u8] {
        self.input.taken(span.start, span.end)
    }

    /// Steps over rows that are here; true when the next packet is no row.
    #[inline]
    fn step_over_rows(&mut self, rows: &mut u64) -> Result<bool, Failure> {
        loop {
            if self.skip > 0 {
                let step = self.skip.min(self.input.unread().len());
                self.input.take(step);
                self.skip -= step;
            }
            let Some(head) = self.input.unread().first_chunk::<5>() else {
                return Ok(false);
            };
            let length = u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize;
            if length == packet::PAYLOAD_BYTES_MAX {
                return Err(garbage("a row of 16 MiB or more"));
            }
            if matches!(head[4], packet::EOF | packet::ERROR) {
                return Ok(true);
            }
            self.skip = 4 + length;
            *rows += 1;
        }
    }

    /// Reads all results of a command.
    #[inline]
    async fn complete(&mut self, rowset: Rowset) -> Result<Completion, Failure> {
        let mut completion = Completion::default();
        loop {
            let span = self.receive().await?;
            let done = match self.payload(span).first() {
                Some(&packet::OK) => {
                    let done = packet::ok(self.payload(span)).ok_or_else(|| garbage("a short OK packet"))?;
                    completion.rows = done.affected;
                    completion.has_rows = false;
                    done
                }
                Some(&packet::ERROR) => return Err(self.failed(span)),
                Some(&packet::LOCAL_FILE) => {
                    self.refuse_file(span).await?;
                    continue;
                }
                Some(_) => {
                    completion.has_rows = true;
                    self.result_set(span, rowset, &mut completion.rows).await?
                }
                None => return Err(garbage("an empty packet")),
            };
            self.status = done.status;
            if done.status & packet::STATUS_MORE_RESULTS == 0 {
                return Ok(completion);
            }
        }
    }

    /// Reads columns and rows; `span` has the number of columns.
    #[inline]
    async fn result_set(&mut self, span: Span, rowset: Rowset, rows: &mut u64) -> Result<Done, Failure> {
        let mut cursor = Cursor(self.payload(span));
        let columns = cursor.length().ok_or_else(|| garbage("a result without columns"))? as usize;
        let told = !self.has(capability::CACHE_METADATA) || cursor.u8() != Some(0);
        if told {
            self.columns(columns, rowset).await?;
        }
        *rows = 0;
        if let Rowset::Skip = rowset {
            while !self.step_over_rows(rows)? {
                self.fill().await?;
            }
        } else {
            self.rows.clear();
        }
        loop {
            let span = self.receive().await?;
            let payload = self.input.taken(span.start, span.end);
            match payload.first() {
                Some(&packet::EOF) => {
                    let done = if self.has(capability::DEPRECATE_EOF) {
                        packet::ok(payload)
                    } else {
                        packet::eof(payload)
                    };
                    return done.ok_or_else(|| garbage("a short end of rows"));
                }
                Some(&packet::ERROR) => return Err(self.failed(span)),
                _ => {}
            }
            let kept = match rowset {
                Rowset::Binary(id) => keep_binary(&mut self.rows, &self.statements[id].columns, payload),
                Rowset::Text | Rowset::Skip => keep_text(&mut self.rows, columns, payload),
            };
            kept.ok_or_else(|| garbage("a row shorter than its columns"))?;
            *rows += 1;
        }
    }

    /// Reads or steps over the definitions of so many columns.
    async fn columns(&mut self, count: usize, rowset: Rowset) -> Result<(), Failure> {
        if let Rowset::Binary(id) = rowset {
            self.statements[id].columns.clear();
        }
        for _ in 0..count {
            let span = self.receive().await?;
            if let Rowset::Binary(id) = rowset {
                let column = statement::column(self.payload(span)).ok_or_else(|| garbage("a short column"))?;
                self.statements[id].columns.push(column);
            }
        }
        if !self.has(capability::DEPRECATE_EOF) {
            self.receive().await?;
        }
        Ok(())
    }

    #[cold]
    fn failed(&self, span: Span) -> Failure {
        errors::failure(server_error(self.payload(span)))
    }

    /// We never said that we send files: an empty packet refuses, and the server reports an error.
    #[cold]
    async fn refuse_file(&mut self, span: Span) -> Result<(), Failure> {
        self.out.clear();
        packet::packet(&mut self.out, span.sequence.wrapping_add(1), |_| {});
        self.flush().await
    }

    /// Why the server hung up while we were sending: it may have said so before it went.
    async fn last_words(&mut self, lost: Failure) -> Failure {
        while let Ok(span) = self.receive().await {
            if self.payload(span).first() == Some(&packet::ERROR) {
                return self.failed(span);
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
    async fn run(&mut self, id: StatementId, values: &[Value<'_>], rowset: Rowset) -> Result<u64, Failure> {
        self.out.clear();
        let statement = &mut self.statements[id];
        let kind = statement.kind;
        let begins = self.pipeline.on && statement.plain && Frame::of(&statement.sql) == Frame::Begin;
        if begins {
            query(&mut self.pipeline.held, statement.sql.as_bytes());
            self.count(kind, 0);
            return Ok(0);
        }
        let led = self.pipeline.lead(&mut self.out);
        if statement.plain {
            query(&mut self.out, statement.sql.as_bytes());
        } else {
            statement.encode(&mut self.out, values);
        }
        self.flush().await?;
        let begun = self.begun(led).await?;
        let completion = self.complete(rowset).await?;
        begun?;
        self.count(kind, completion.rows);
        Ok(completion.rows)
    }

    /// Runs SQL; the kind of statement shows in the answer.
    async fn text(&mut self) -> Result<Completion, Failure> {
        if let Err(lost) = self.flush().await {
            return Err(self.last_words(lost).await);
        }
        let completion = self.complete(Rowset::Text).await?;
        let kind = match completion {
            Completion { has_rows: true, .. } => StatementKind::Read,
            Completion { rows: 0, .. } => StatementKind::Other,
            _ => StatementKind::Write,
        };
        self.count(kind, completion.rows);
        Ok(completion)
    }

    /// Runs a question that a server may not know or the user may not ask; `None` then.
    async fn ask(&mut self, sql: &str) -> Result<Option<usize>, Failure> {
        match self.simple(sql).await {
            Ok(rows) => Ok(Some(rows)),
            Err(Failure::Fatal(_)) => Ok(None),
            Err(other) => Err(other),
        }
    }
}

impl Session for Connection {
    #[inline]
    async fn execute(&mut self, statement: StatementId, parameters: &[Value<'_>]) -> Result<u64, Failure> {
        self.run(statement, parameters, Rowset::Skip).await
    }

    #[inline]
    async fn query(&mut self, statement: StatementId, parameters: &[Value<'_>]) -> Result<usize, Failure> {
        self.rows.clear();
        self.run(statement, parameters, Rowset::Binary(statement)).await?;
        Ok(self.rows.count)
    }

    async fn simple(&mut self, sql: &str) -> Result<usize, Failure> {
        self.rows.clear();
        if self.pipeline.on && Frame::of(sql) == Frame::Begin {
            query(&mut self.pipeline.held, sql.as_bytes());
            self.count(StatementKind::Other, 0);
            return Ok(0);
        }
        self.settle().await?;
        self.out.clear();
        query(&mut self.out, sql.as_bytes());
        self.text().await?;
        Ok(self.rows.count)
    }

    fn cell(&self, row: usize, column: usize) -> Option<&str> {
        self.rows.cell(row, column)
    }

    async fn bulk_load(&mut self, into: &str, produce: &mut dyn FnMut(&mut Vec<u8>) -> bool) -> Result<u64, Failure> {
        self.rows.clear();
        self.settle().await?;
        let backslashes = self.status & packet::STATUS_NO_BACKSLASH_ESCAPES == 0;
        let head = format!("INSERT INTO {into} VALUES ");
        let (mut lines, mut more, mut loaded) = (Vec::new(), true, 0);
        while more {
            self.out.clear();
            self.out.extend_from_slice(&[0, 0, 0, 0, COM_QUERY]);
            self.out.extend_from_slice(head.as_bytes());
            let empty = self.out.len();
            while more && self.out.len() < bulk::INSERT_BYTES {
                lines.clear();
                more = produce(&mut lines);
                bulk::values(&mut self.out, &lines, backslashes);
            }
            if self.out.len() == empty {
                break;
            }
            // The comma after the last row.
            self.out.pop();
            packet::close(&mut self.out, 0);
            loaded += self.text().await?.rows;
        }
        Ok(loaded)
    }

    /// Nothing: this protocol's servers run what follows a failed statement, and would commit half a transaction.
    fn commit_follows(&mut self) {}

    fn first_sent_ns(&self) -> Option<u64> {
        self.first_sent_ns
    }
}

impl Wire for Connection {
    /// CREATE, ALTER and DROP commit what was before them.
    const TRANSACTIONAL_DDL: bool = false;

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
        self.status & packet::STATUS_IN_TRANSACTION != 0
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
            "SELECT table_name FROM information_schema.tables \
             WHERE table_schema = DATABASE() AND table_name IN ({})",
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
        let first = sql.split_whitespace().next().unwrap_or_default().to_ascii_uppercase();
        !["CREATE", "ALTER", "DROP", "ANALYZE", "OPTIMIZE"].contains(&first.as_str())
    }

    fn was_done_before(code: &str) -> bool {
        DONE_BEFORE.contains(&code)
    }

    async fn writes_refused(&mut self) -> Result<Option<String>, Failure> {
        // `innodb_read_only` and `super_read_only` are not everywhere; whoever has them sets `read_only` too, or fails
        // at the first write with the server's own words.
        let asked = self.ask("SELECT @@GLOBAL.read_only").await?;
        if asked.is_some() && !matches!(self.cell(0, 0), Some("0" | "OFF")) {
            return Ok(Some("the server is read-only (read_only is on)".into()));
        }
        // MariaDB has connections by name, of which only the first statement tells; it is an error elsewhere. The old
        // word is the one that most servers know; MySQL 8.4 knows only the new one. Without the privilege to ask, the
        // answer stays unknown and the load goes on.
        for (whom, host) in [("ALL SLAVES", 3), ("SLAVE", 1), ("REPLICA", 1)] {
            match self.ask(&format!("SHOW {whom} STATUS")).await? {
                None => {}
                Some(0) => break,
                Some(_) => {
                    let source = self.cell(0, host).unwrap_or_default().to_string();
                    return Ok(Some(format!("the server is a replica of {source:?}")));
                }
            }
        }
        Ok(None)
    }

    fn close(&mut self) {
        self.socket.send_now(&[1, 0, 0, 0, COM_QUIT]);
    }
}
