//! Wire protocols, one file or folder each. To add one: a `mod` line, a line in `DIALECTS`, an arm in `with`.

use std::io;
use std::os::fd::RawFd;
use std::rc::Rc;

use dyno_core::plan::Target;
use dyno_core::session::{Failure, ServerError, Session, Statement};

mod failures;
mod input;
mod mysql;
pub mod null;
mod pipeline;
mod postgresql;
mod raw;
mod rows;
mod socket;
mod tls;

/// What a connection asks of the executor that polls it. A connection is driven by one task.
pub trait Runtime {
    /// Nanoseconds on the driver's clock.
    fn now_ns(&self) -> u64;
    /// Polls the connection's task on every arrival of data on `fd` (edge-triggered).
    fn register(&self, fd: RawFd) -> io::Result<()>;
    /// Whether the task is also polled when `fd` takes data again.
    fn watch_write(&self, fd: RawFd, on: bool) -> io::Result<()>;
    /// Ends what `register` began.
    fn forget(&self, fd: RawFd) -> io::Result<()>;
    /// The task has this thread for itself: a socket may block the thread. The caller interrupts it now and then (EINTR),
    /// and the socket then lets the executor look at its timers and at the wish to stop.
    fn is_direct(&self) -> bool;
    /// Polls the current task again in the next round.
    fn again(&self);
    /// Unpredictable bytes for authentication.
    fn entropy(&self) -> [u8; 18];
}

/// Why a connection could not be opened.
#[derive(Clone, Debug)]
pub struct ConnectError {
    /// Class of the `error` event: `connect`, `auth` or `sql`.
    pub class: &'static str,
    pub error: ServerError,
    /// Trying again later may help (server starting, connection refused).
    pub transient: bool,
}

/// A connection as the driver uses it: a session, and what is needed around its transactions.
#[allow(async_fn_in_trait)] // The executor is single-threaded: futures need not be Send.
pub trait Wire: Session + Sized {
    /// What creates tables can be rolled back together with the rest of a transaction.
    const TRANSACTIONAL_DDL: bool = true;

    /// Opens a connection and prepares `statements`.
    async fn connect(
        target: &Target,
        statements: Rc<[Statement]>,
        runtime: Rc<dyn Runtime>,
    ) -> Result<Self, ConnectError>;

    /// From now on BEGIN is sent with the first statement, and COMMIT with the last one where a failure of that one keeps
    /// the server from committing.
    fn pipeline(&mut self);
    /// Forgets when the last transaction sent its first byte.
    fn start_transaction(&mut self);
    /// Statements since the last call: read, write, other.
    fn take_statement_counts(&mut self) -> [u64; 3];
    /// The server is in a transaction, possibly a failed one.
    fn in_transaction(&self) -> bool;
    async fn begin(&mut self) -> Result<(), Failure>;
    async fn commit(&mut self) -> Result<(), Failure>;
    async fn rollback(&mut self) -> Result<(), Failure>;
    /// Those of `names` that exist as tables where unqualified names are looked up.
    async fn existing_tables(&mut self, names: &[String]) -> Result<Vec<String>, Failure>;
    /// Columns of the rows kept by the last `query` or `simple`.
    fn columns(&self) -> usize;
    /// The server can run this statement inside a transaction.
    fn runs_in_transaction(sql: &str) -> bool;
    /// An error of this code says that a step of a schema (an index, say) was done before.
    fn was_done_before(_code: &str) -> bool {
        false
    }
    /// Why nothing should be written to this server (read-only, a replica), as far as the user may know.
    async fn writes_refused(&mut self) -> Result<Option<String>, Failure>;
    /// Says goodbye. The connection is closed when it is dropped.
    fn close(&mut self);
}

/// How to talk to a server, by the dialect that the plan names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialect {
    pub name: &'static str,
    pub port: u16,
    /// The server lives inside the driver: no dataset, no schema.
    pub inside: bool,
    protocol: Protocol,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Protocol {
    Postgresql,
    Mysql,
}

/// All dialects that a plan can name.
pub const DIALECTS: [Dialect; 3] = [
    Dialect {
        name: "postgresql",
        port: postgresql::PORT,
        inside: false,
        protocol: Protocol::Postgresql,
    },
    Dialect {
        name: "mysql",
        port: mysql::PORT,
        inside: false,
        protocol: Protocol::Mysql,
    },
    Dialect {
        name: "null",
        port: 0,
        inside: true,
        protocol: Protocol::Postgresql,
    },
];

/// Finds a dialect; the message lists the known ones.
pub fn dialect(name: &str) -> Result<Dialect, String> {
    DIALECTS
        .into_iter()
        .find(|dialect| dialect.name == name)
        .ok_or_else(|| {
            let known: Vec<&str> = DIALECTS.iter().map(|dialect| dialect.name).collect();
            format!("target.dialect: one of {} is needed, got {name:?}", known.join(", "))
        })
}

/// Something generic over the type of a connection.
pub trait WireVisitor {
    type Output;
    fn visit<C: Wire + 'static>(self) -> Self::Output;
}

/// Calls `visitor` with the connection type of `dialect`.
pub fn with<V: WireVisitor>(dialect: Dialect, visitor: V) -> V::Output {
    match dialect.protocol {
        Protocol::Postgresql => visitor.visit::<postgresql::Connection>(),
        Protocol::Mysql => visitor.visit::<mysql::Connection>(),
    }
}

/// Class of a server's error code, for counts and `error` events: `serialization`, `deadlock`, `lock_wait`,
/// `duplicate_key`, `lost`, `auth`, `disk_full`, `too_many_connections` or `sql`.
pub fn error_class(code: &str) -> &'static str {
    // Codes of the protocols do not overlap, so that one function serves all: an SQLSTATE has five characters.
    if code.len() == 5 {
        postgresql::error_class(code)
    } else {
        mysql::error_class(code)
    }
}
