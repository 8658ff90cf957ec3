//! What a workload may ask of one connection to a server. A wire protocol implements it once; a workload is written
//! against it once, as plain `async` code that the driver's own executor runs over many connections on one thread.

/// Type of a statement's parameter, declared when the statement is prepared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// 32-bit integer, sent in binary where the protocol can.
    Int,
    /// 64-bit integer, sent in binary where the protocol can.
    BigInt,
    /// Anything else, sent as text and converted by the server (numeric, timestamp, varchar, char).
    Text,
}

/// A value bound to a parameter.
#[derive(Clone, Copy, Debug)]
pub enum Value<'a> {
    Null,
    Int(i32),
    BigInt(i64),
    Text(&'a str),
}

/// What kind of work a statement is, for the read/write/other counts that the field's tools print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementKind {
    Read,
    Write,
    Other,
}

/// A statement as a workload declares it. Placeholders are `$1`, `$2` …; a wire protocol that wants others rewrites
/// them once, when it prepares.
#[derive(Clone, Debug)]
pub struct Statement {
    pub sql: String,
    pub parameters: Vec<Type>,
    pub kind: StatementKind,
}

/// Index of a statement in the list that the workload declared.
pub type StatementId = usize;

/// Why a call on a session failed, by what the driver does next.
#[derive(Debug, Clone)]
pub enum Failure {
    /// Serialization failure or deadlock: the transaction is rolled back and repeated.
    Retry(ServerError),
    /// The connection is gone: it is opened anew and the transaction is repeated.
    Lost(String),
    /// Anything else: the run stops with the server's own message.
    Fatal(ServerError),
}

/// The server's own words.
#[derive(Debug, Clone, Default)]
pub struct ServerError {
    /// The server's own code, e.g. an SQLSTATE.
    pub code: String,
    pub message: String,
    pub detail: String,
    pub hint: String,
}

/// One connection.
#[allow(async_fn_in_trait)] // The executor is single-threaded: futures need not be Send.
pub trait Session {
    /// Runs a prepared statement and skips its rows. Returns the rows affected or returned.
    async fn execute(&mut self, statement: StatementId, parameters: &[Value<'_>]) -> Result<u64, Failure>;

    /// Runs a prepared statement and keeps its rows until the next call. Returns how many there are.
    async fn query(&mut self, statement: StatementId, parameters: &[Value<'_>]) -> Result<usize, Failure>;

    /// Runs unprepared SQL (one or several statements) and keeps the rows of the last one.
    async fn simple(&mut self, sql: &str) -> Result<usize, Failure>;

    /// A cell of the rows kept by the last `query` or `simple`, as text; `None` for NULL or out of range.
    fn cell(&self, row: usize, column: usize) -> Option<&str>;

    /// Loads rows in bulk: `produce` appends tab-separated lines (`\N` for NULL, backslash escapes) to the buffer and
    /// returns false when there are no more. `into` is `table (column, …)`. Returns the rows loaded.
    async fn bulk_load(&mut self, into: &str, produce: &mut dyn FnMut(&mut Vec<u8>) -> bool) -> Result<u64, Failure>;

    /// The next statement changes data and is the last before COMMIT, which may be sent together with it.
    fn commit_follows(&mut self);

    /// When the first byte of the current transaction left, nanoseconds on the driver's clock. The driver resets it
    /// before each transaction; a workload never calls it.
    fn first_sent_ns(&self) -> Option<u64>;
}

/// Reads a kept cell as an integer; NULL or anything else is a fatal failure that names the place.
pub fn integer<S: Session>(session: &S, row: usize, column: usize) -> Result<i64, Failure> {
    session
        .cell(row, column)
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| {
            Failure::Fatal(ServerError {
                code: "DYNO1".into(),
                message: format!(
                    "row {row}, column {column}: an integer was expected, got {:?}",
                    session.cell(row, column)
                ),
                ..ServerError::default()
            })
        })
}
