//! Opening a connection: greeting, encryption, authentication, preparing the workload's statements.

use std::rc::Rc;

use dyno_core::plan::{Target, Tls};
use dyno_core::session::{Failure, ServerError, Statement};

use super::auth::{METHODS, Method, plain, sealed};
use super::packet::{self, Cursor, Greeting, capability, packet, server_error, sized, terminated};
use super::statement::{Prepared, column};
use super::{Connection, Span, errors};
use crate::failures::{self, garbage, not_prepared, refused, unreachable};
use crate::input::Input;
use crate::pipeline::Pipeline;
use crate::rows::Rows;
use crate::socket::Socket;
use crate::{ConnectError, Runtime};

/// Statements prepared in one round trip: few enough that neither side's socket buffer fills up.
const PREPARE_BATCH: usize = 32;
const COM_STMT_PREPARE: u8 = 0x16;
/// utf8mb4_general_ci, which all servers of the last fifteen years know.
const CHARACTER_SET: u8 = 45;
const PACKET_BYTES_MAX: u32 = 16 * 1024 * 1024;
/// The socket that servers make in a folder of theirs.
const SOCKET_NAME: &str = "mysql.sock";
/// A server that goes on asking after so many packets wants to waste our time.
const AUTH_PACKETS_MAX: usize = 20;

const WANTED: u64 = capability::LONG_PASSWORD
    | capability::CONNECT_WITH_DB
    | capability::PROTOCOL_41
    | capability::TRANSACTIONS
    | capability::SECURE_CONNECTION
    | capability::MULTI_STATEMENTS
    | capability::MULTI_RESULTS
    | capability::PS_MULTI_RESULTS
    | capability::PLUGIN_AUTH
    | capability::CONNECT_ATTRS
    | capability::PLUGIN_AUTH_LENENC
    | capability::DEPRECATE_EOF
    | capability::CACHE_METADATA;
/// Without these no server of this century speaks.
const NEEDED: u64 = capability::PROTOCOL_41 | capability::SECURE_CONNECTION | capability::PLUGIN_AUTH;

fn from_server(error: ServerError) -> ConnectError {
    let class = errors::error_class(&error.code);
    ConnectError {
        // All connections taken and shutting down: both pass.
        transient: matches!(class, "too_many_connections" | "lost"),
        class: if class == "auth" { "auth" } else { "connect" },
        error,
    }
}

fn from_failure(failure: Failure) -> ConnectError {
    failures::from_failure(failure, from_server)
}

/// The file of a Unix socket: `host` itself, or `mysql.sock` when it is a folder.
fn socket_path(host: &str) -> String {
    if std::path::Path::new(host).is_dir() {
        format!("{}/{SOCKET_NAME}", host.trim_end_matches('/'))
    } else {
        host.to_string()
    }
}

async fn open(target: &Target, runtime: Rc<dyn Runtime>) -> Result<Socket, ConnectError> {
    if target.host.starts_with('/') {
        let path = socket_path(&target.host);
        return Socket::connect_unix(path.as_bytes(), runtime).map_err(|error| unreachable(target, &path, &error));
    }
    let port = if target.port == 0 { super::PORT } else { target.port };
    let host = if target.host.is_empty() {
        "localhost"
    } else {
        &target.host
    };
    Socket::connect_tcp(host, port, runtime)
        .await
        .map_err(|error| unreachable(target, &format!("{host}:{port}"), &error))
}

/// Opens a connection, authenticates and prepares `statements`.
pub async fn connect(
    target: &Target,
    statements: &[Statement],
    runtime: Rc<dyn Runtime>,
) -> Result<Connection, ConnectError> {
    if target.database.is_empty() {
        let message = format!("no database is named for {target:?}");
        return Err(refused(
            "connect",
            message,
            "Name the database that holds the dataset, or shall.",
            false,
        ));
    }
    let mut encrypt = target.tls != Tls::Disable && !target.host.starts_with('/');
    loop {
        let mut connection = fresh(target, statements, runtime.clone()).await?;
        let mut login = Login {
            connection: &mut connection,
            target,
            entropy: &|| runtime.entropy(),
            encrypt,
            encrypted: false,
            handshake_failed: false,
        };
        match login.run().await {
            // As the servers' own clients: what is only preferred is tried, and then done without.
            Err(_) if login.handshake_failed && target.tls == Tls::Prefer => encrypt = false,
            result => {
                result?;
                prepare(&mut connection).await?;
                connection.counts = [0; 3];
                return Ok(connection);
            }
        }
    }
}

/// A connection on which nothing has been said yet.
async fn fresh(
    target: &Target,
    statements: &[Statement],
    runtime: Rc<dyn Runtime>,
) -> Result<Connection, ConnectError> {
    Ok(Connection {
        socket: open(target, runtime).await?,
        out: Vec::with_capacity(1024),
        input: Input::new(),
        skip: 0,
        capabilities: 0,
        statements: statements.iter().map(Prepared::new).collect(),
        rows: Rows::default(),
        first_sent_ns: None,
        counts: [0; 3],
        status: packet::STATUS_AUTOCOMMIT,
        pipeline: Pipeline::default(),
    })
}

/// From the server's greeting to its OK.
struct Login<'a> {
    connection: &'a mut Connection,
    target: &'a Target,
    entropy: &'a dyn Fn() -> [u8; 18],
    /// The connection shall be encrypted, or is preferred so.
    encrypt: bool,
    encrypted: bool,
    /// Both sides wanted to encrypt and did not come to terms.
    handshake_failed: bool,
}

impl Login<'_> {
    async fn run(&mut self) -> Result<(), ConnectError> {
        let span = self.receive().await?;
        let payload = self.connection.payload(span);
        if payload.first() == Some(&packet::ERROR) {
            return Err(from_server(server_error(payload)));
        }
        let greeting = packet::greeting(payload)
            .filter(|greeting| greeting.capabilities & NEEDED == NEEDED)
            .ok_or_else(|| {
                let message = format!("{:?} does not greet as this protocol has it", self.target);
                refused("connect", message, "Does this port speak the right protocol?", false)
            })?;
        self.connection.capabilities = WANTED & greeting.capabilities;
        // MariaDB's servers leave this one unset in the greeting.
        self.connection.capabilities |= capability::LONG_PASSWORD;
        let own = self.connection.capabilities >> 32 != 0;
        if own {
            self.connection.capabilities &= !capability::LONG_PASSWORD;
        }
        let mut sequence = span.sequence.wrapping_add(1);
        if self.encrypt {
            sequence = self.encrypt(&greeting, sequence).await?;
        }
        // A method that we do not know is answered with one that we do; the server then names the user's own.
        let method = Method::named(&greeting.plugin).unwrap_or(Method::Native);
        self.respond(&greeting, method, sequence).await?;
        self.negotiate(method, greeting.nonce).await
    }

    /// Encrypts the connection, where the target wants it and the server can; returns the next packet's number.
    async fn encrypt(&mut self, greeting: &Greeting, sequence: u8) -> Result<u8, ConnectError> {
        if greeting.capabilities & capability::SSL == 0 {
            if self.target.tls == Tls::Prefer {
                return Ok(sequence);
            }
            let message = format!(
                "{:?} does not encrypt connections, which the target demands",
                self.target
            );
            let hint = "Give the server a certificate and key (ssl_cert, ssl_key), or demand no encryption.";
            return Err(refused("connect", message, hint, false));
        }
        let connection = &mut *self.connection;
        connection.capabilities |= capability::SSL;
        connection.out.clear();
        packet(&mut connection.out, sequence, |out| {
            opening(out, connection.capabilities)
        });
        connection.flush().await.map_err(from_failure)?;
        let result = connection.socket.encrypt(self.target, connection.input.unread()).await;
        self.handshake_failed = result.is_err();
        result.map_err(|message| refused("connect", message, "", false))?;
        self.encrypted = true;
        Ok(sequence.wrapping_add(1))
    }

    async fn receive(&mut self) -> Result<Span, ConnectError> {
        self.connection.receive().await.map_err(from_failure)
    }

    /// Over a Unix socket.
    fn local(&self) -> bool {
        self.target.host.starts_with('/')
    }

    /// Nobody can listen, as the server sees it: sha256_password does not count a Unix socket.
    fn secure(&self, method: Method) -> bool {
        self.encrypted || (self.local() && method != Method::Sha256)
    }

    fn password(&self) -> &str {
        self.target.password.as_deref().unwrap_or_default()
    }

    async fn respond(&mut self, greeting: &Greeting, method: Method, sequence: u8) -> Result<(), ConnectError> {
        let answer = method.answer(self.password(), &greeting.nonce, self.secure(method));
        let capabilities = self.connection.capabilities;
        let out = &mut self.connection.out;
        out.clear();
        packet(out, sequence, |out| {
            opening(out, capabilities);
            terminated(out, self.target.user.as_bytes());
            sized(out, &answer);
            terminated(out, self.target.database.as_bytes());
            terminated(out, method.plugin().as_bytes());
            let mut attributes = Vec::new();
            for text in ["program_name", "dyno-driver", "_client_name", "dyno"] {
                sized(&mut attributes, text.as_bytes());
            }
            sized(out, &attributes);
        });
        self.connection.flush().await.map_err(from_failure)
    }

    /// Answers whatever the server asks for, until it is satisfied.
    async fn negotiate(&mut self, mut method: Method, mut nonce: Vec<u8>) -> Result<(), ConnectError> {
        for _ in 0..AUTH_PACKETS_MAX {
            let span = self.receive().await?;
            let payload = self.connection.payload(span).to_vec();
            let sequence = span.sequence.wrapping_add(1);
            match payload.first() {
                Some(&packet::OK) => {
                    if let Some(done) = packet::ok(&payload) {
                        self.connection.status = done.status;
                    }
                    return Ok(());
                }
                Some(&packet::ERROR) => return Err(from_server(server_error(&payload))),
                Some(&packet::EOF) => {
                    let mut cursor = Cursor(&payload[1..]);
                    let plugin = String::from_utf8_lossy(cursor.terminated()).into_owned();
                    method = Method::named(&plugin).ok_or_else(|| self.unknown(&plugin))?;
                    nonce = cursor.0.strip_suffix(&[0]).unwrap_or(cursor.0).to_vec();
                    let answer = method.answer(self.password(), &nonce, self.secure(method));
                    self.send(sequence, &answer).await?;
                }
                // More data: the fast path worked (3), the password itself is needed (4), or the public key.
                Some(1) => match payload.get(1) {
                    Some(3) if payload.len() == 2 => {}
                    Some(4) if payload.len() == 2 && self.secure(method) => {
                        let answer = plain(self.password());
                        self.send(sequence, &answer).await?;
                    }
                    Some(4) if payload.len() == 2 => self.send(sequence, &[method.key_request()]).await?,
                    _ => {
                        let pem = String::from_utf8_lossy(&payload[1..]);
                        let answer = sealed(self.password(), &nonce, &pem, self.entropy)
                            .map_err(|message| refused("auth", message, "", false))?;
                        self.send(sequence, &answer).await?;
                    }
                },
                _ => break,
            }
        }
        let message = format!("{:?} did not come to an end with authentication", self.target);
        Err(refused("auth", message, "", false))
    }

    fn unknown(&self, plugin: &str) -> ConnectError {
        let asked = if plugin.is_empty() {
            "mysql_old_password"
        } else {
            plugin
        };
        refused(
            "auth",
            format!(
                "the server wants the authentication plug-in {asked:?} for {:?}, which is not spoken here; {METHODS} are",
                self.target
            ),
            "Use a user with one of these (ALTER USER … IDENTIFIED WITH, or VIA).",
            false,
        )
    }

    async fn send(&mut self, sequence: u8, answer: &[u8]) -> Result<(), ConnectError> {
        self.connection.out.clear();
        packet(&mut self.connection.out, sequence, |out| out.extend_from_slice(answer));
        self.connection.flush().await.map_err(from_failure)
    }
}

/// The first 32 bytes of our answer, which are also the whole wish for encryption.
fn opening(out: &mut Vec<u8>, capabilities: u64) {
    out.extend_from_slice(&(capabilities as u32).to_le_bytes());
    out.extend_from_slice(&PACKET_BYTES_MAX.to_le_bytes());
    out.push(CHARACTER_SET);
    out.extend_from_slice(&[0; 19]);
    out.extend_from_slice(&((capabilities >> 32) as u32).to_le_bytes());
}

async fn prepare(connection: &mut Connection) -> Result<(), ConnectError> {
    let wanted: Vec<usize> = (0..connection.statements.len())
        .filter(|id| !connection.statements[*id].plain)
        .collect();
    for batch in wanted.chunks(PREPARE_BATCH) {
        connection.out.clear();
        for id in batch {
            packet(&mut connection.out, 0, |out| {
                out.push(COM_STMT_PREPARE);
                out.extend_from_slice(connection.statements[*id].sql.as_bytes());
            });
        }
        connection.flush().await.map_err(from_failure)?;
        for id in batch {
            prepared(connection, *id).await.map_err(not_prepared)?;
        }
    }
    Ok(())
}

/// Reads the answer to one COM_STMT_PREPARE.
async fn prepared(connection: &mut Connection, id: usize) -> Result<(), Failure> {
    let span = connection.receive().await?;
    if connection.payload(span).first() == Some(&packet::ERROR) {
        return Err(connection.failed(span));
    }
    let mut cursor = Cursor(connection.payload(span));
    let told = cursor
        .u8()
        .and_then(|_| Some((cursor.u32()?, cursor.u16()?, cursor.u16()?)));
    let (number, columns, parameters) = told.ok_or_else(|| garbage("a short answer to a preparation"))?;
    let statement = &mut connection.statements[id];
    statement.known_as(number);
    // Both counted the placeholders; where they differ, values would go astray.
    assert_eq!(
        usize::from(parameters),
        statement.placeholders(),
        "placeholders of {:?}",
        statement.sql
    );
    let ends = usize::from(connection.capabilities & capability::DEPRECATE_EOF == 0);
    if parameters > 0 {
        for _ in 0..usize::from(parameters) + ends {
            connection.receive().await?;
        }
    }
    for _ in 0..columns {
        let span = connection.receive().await?;
        let column = column(connection.payload(span)).ok_or_else(|| garbage("a short column"))?;
        connection.statements[id].columns.push(column);
    }
    if columns > 0 && ends > 0 {
        connection.receive().await?;
    }
    Ok(())
}
