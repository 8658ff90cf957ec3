//! Opening a connection: startup, authentication, preparing the workload's statements.

use std::rc::Rc;

use dyno_core::plan::{Target, Tls};
use dyno_core::session::{Failure, ServerError, Statement};

use super::Connection;
use super::auth::{Scram, md5_answer};
use super::message::{Prepared, message, parse, server_error, sized, sync, text};
use crate::failures::{self, not_prepared, refused, unreachable};
use crate::input::Input;
use crate::pipeline::{Frame, Pipeline};
use crate::rows::Rows;
use crate::socket::Socket;
use crate::{ConnectError, Runtime};

/// Statements prepared in one round trip: few enough that neither side's socket buffer fills up.
const PREPARE_BATCH: usize = 32;
const PROTOCOL_3_0: u32 = 196_608;
const SSL_REQUEST: u32 = 80_877_103;

fn from_server(mut error: ServerError) -> ConnectError {
    // The server's own words for a line `hostssl` that a connection in the clear does not fit.
    if error.code == "28000" && error.message.contains("no encryption") && error.hint.is_empty() {
        error.hint = "The server may want an encrypted connection: say so (sslmode=require or stricter).".into();
    }
    let class = match super::error_class(&error.code) {
        "auth" => "auth",
        _ => "connect",
    };
    // Starting up or shutting down, and all connections taken: both pass.
    let transient = error.code.starts_with("57P") || error.code == "53300";
    ConnectError {
        class,
        error,
        transient,
    }
}

fn from_failure(failure: Failure) -> ConnectError {
    failures::from_failure(failure, from_server)
}

async fn open(target: &Target, runtime: Rc<dyn Runtime>) -> Result<Socket, ConnectError> {
    let port = if target.port == 0 { super::PORT } else { target.port };
    if target.host.starts_with('\0') {
        let error = |error| unreachable(target, "the null server", &error);
        return Socket::connect_unix(target.host.as_bytes(), runtime).map_err(error);
    }
    if target.host.starts_with('/') {
        let path = format!("{}/.s.PGSQL.{port}", target.host.trim_end_matches('/'));
        return Socket::connect_unix(path.as_bytes(), runtime).map_err(|error| unreachable(target, &path, &error));
    }
    let host = if target.host.is_empty() {
        "localhost"
    } else {
        &target.host
    };
    Socket::connect_tcp(host, port, runtime)
        .await
        .map_err(|error| unreachable(target, &format!("{host}:{port}"), &error))
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
        statements: statements
            .iter()
            .enumerate()
            .map(|(index, one)| Prepared::new(index, one))
            .collect(),
        rows: Rows::default(),
        first_sent_ns: None,
        counts: [0; 3],
        status: b'I',
        pipeline: Pipeline::default(),
        commit: statements.iter().position(|one| Frame::of(&one.sql) == Frame::Commit),
    })
}

/// Opens a connection, authenticates and prepares `statements`.
pub async fn connect(
    target: &Target,
    statements: &[Statement],
    runtime: Rc<dyn Runtime>,
) -> Result<Connection, ConnectError> {
    let entropy = runtime.entropy();
    let mut connection = fresh(target, statements, runtime.clone()).await?;
    if target.tls != Tls::Disable && !target.host.starts_with(['/', '\0']) {
        match encrypt(&mut connection, target).await {
            // As libpq: what is only preferred is tried, and then done without, on another connection.
            Err(_) if target.tls == Tls::Prefer => connection = fresh(target, statements, runtime).await?,
            result => result?,
        }
    }
    greet(&mut connection, target).await?;
    authenticate(&mut connection, target, entropy).await?;
    prepare(&mut connection, statements).await?;
    connection.counts = [0; 3];
    Ok(connection)
}

/// Asks for encryption (manual, "SSL Session Encryption"): the server answers with one byte.
async fn encrypt(connection: &mut Connection, target: &Target) -> Result<(), ConnectError> {
    sized(&mut connection.out, |out| {
        out.extend_from_slice(&SSL_REQUEST.to_be_bytes());
    });
    connection.flush().await.map_err(from_failure)?;
    connection.out.clear();
    connection.fill().await.map_err(from_failure)?;
    match connection.input.unread().first() {
        Some(b'S') => {
            connection.input.take(1);
            let result = connection.socket.encrypt(target, connection.input.unread()).await;
            result.map_err(|message| refused("connect", message, "", false))
        }
        Some(b'N') if target.tls == Tls::Prefer => {
            connection.input.take(1);
            Ok(())
        }
        Some(b'N') => {
            let message = format!("{target:?} does not encrypt connections (ssl is off), which the target demands");
            Err(refused(
                "connect",
                message,
                "Switch the server's encryption on, or demand none.",
                false,
            ))
        }
        // An error message of a server that knows no encryption, or of one that is starting.
        _ => authenticate(connection, target, [0; 18]).await,
    }
}

async fn greet(connection: &mut Connection, target: &Target) -> Result<(), ConnectError> {
    let database = if target.database.is_empty() {
        &target.user
    } else {
        &target.database
    };
    sized(&mut connection.out, |out| {
        out.extend_from_slice(&PROTOCOL_3_0.to_be_bytes());
        for (name, value) in [
            ("user", target.user.as_str()),
            ("database", database.as_str()),
            ("application_name", "dyno-driver"),
            ("client_encoding", "UTF8"),
        ] {
            text(out, name);
            text(out, value);
        }
        out.push(0);
    });
    connection.flush().await.map_err(from_failure)
}

/// Answers whatever the server asks for, until it is ready for queries.
async fn authenticate(connection: &mut Connection, target: &Target, entropy: [u8; 18]) -> Result<(), ConnectError> {
    let mut scram: Option<Scram> = None;
    loop {
        let received = connection.receive().await.map_err(from_failure)?;
        let body = connection.body(&received).to_vec();
        match received.tag {
            b'E' => return Err(from_server(server_error(&body))),
            b'Z' => return Ok(()),
            b'R' => {
                let Some((kind, rest)) = body.split_first_chunk::<4>() else {
                    return Err(from_failure(super::garbage("an authentication request without a kind")));
                };
                answer(connection, target, entropy, &mut scram, u32::from_be_bytes(*kind), rest).await?;
            }
            // ParameterStatus, BackendKeyData, Notice, NegotiateProtocolVersion.
            _ => {}
        }
    }
}

async fn answer(
    connection: &mut Connection,
    target: &Target,
    entropy: [u8; 18],
    scram: &mut Option<Scram>,
    kind: u32,
    rest: &[u8],
) -> Result<(), ConnectError> {
    let auth = |message: String| {
        refused(
            "auth",
            message,
            "Check user, password and the server's pg_hba.conf.",
            false,
        )
    };
    if kind == 0 {
        return Ok(());
    }
    let password = target.password.as_deref().ok_or_else(|| {
        auth(format!(
            "the server asks {target:?} for a password and the plan has none"
        ))
    })?;
    connection.out.clear();
    let out = &mut connection.out;
    match kind {
        3 => message(out, b'p', |out| text(out, password)),
        5 => message(out, b'p', |out| text(out, &md5_answer(&target.user, password, rest))),
        10 => {
            if !rest.split(|byte| *byte == 0).any(|name| name == b"SCRAM-SHA-256") {
                return Err(auth("the server offers SASL without SCRAM-SHA-256".into()));
            }
            let first = scram.insert(Scram::new(password, entropy)).client_first();
            message(out, b'p', |out| {
                text(out, "SCRAM-SHA-256");
                sized_text(out, &first);
            });
        }
        11 => {
            let exchange = scram
                .as_mut()
                .ok_or_else(|| auth("SASL went on before it began".into()))?;
            let last = exchange.client_final(&String::from_utf8_lossy(rest)).map_err(auth)?;
            message(out, b'p', |out| out.extend_from_slice(last.as_bytes()));
        }
        12 => {
            let exchange = scram
                .as_ref()
                .ok_or_else(|| auth("SASL ended before it began".into()))?;
            return exchange.verify(&String::from_utf8_lossy(rest)).map_err(auth);
        }
        other => {
            return Err(auth(format!(
                "authentication method {other} is not spoken here; trust, password, md5 and scram-sha-256 are"
            )));
        }
    }
    connection.flush().await.map_err(from_failure)
}

fn sized_text(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(&(text.len() as u32).to_be_bytes());
    out.extend_from_slice(text.as_bytes());
}

async fn prepare(connection: &mut Connection, statements: &[Statement]) -> Result<(), ConnectError> {
    for (batch, some) in statements.chunks(PREPARE_BATCH).enumerate() {
        connection.out.clear();
        for (index, statement) in some.iter().enumerate() {
            parse(&mut connection.out, batch * PREPARE_BATCH + index, statement);
        }
        sync(&mut connection.out);
        connection.flush().await.map_err(from_failure)?;
        connection.complete(false).await.map_err(not_prepared)?;
    }
    Ok(())
}
