//! What every protocol says of connections that break or cannot be opened.

use std::io;

use dyno_core::plan::Target;
use dyno_core::session::{Failure, ServerError};

use crate::ConnectError;

/// A connection that was there and is gone.
pub fn lost(error: &io::Error) -> Failure {
    Failure::Lost(match error.kind() {
        io::ErrorKind::UnexpectedEof => error.to_string(),
        _ => format!("the connection broke: {error}"),
    })
}

/// A server that speaks something else.
pub fn garbage(what: &str) -> Failure {
    Failure::Lost(format!("the server sent what this protocol does not have: {what}"))
}

/// A connection that is not opened.
pub fn refused(class: &'static str, message: String, hint: &str, transient: bool) -> ConnectError {
    let error = ServerError {
        message,
        hint: hint.into(),
        ..ServerError::default()
    };
    ConnectError {
        class,
        error,
        transient,
    }
}

/// Nobody answers at `place`.
pub fn unreachable(target: &Target, place: &str, error: &io::Error) -> ConnectError {
    let message = format!("no connection to {target:?} at {place}: {error}");
    let hint = "Is the server running, and are host and port right?";
    refused("connect", message, hint, true)
}

/// A failure before the first statement; `from_server` reads the server's own errors.
pub fn from_failure(failure: Failure, from_server: impl FnOnce(ServerError) -> ConnectError) -> ConnectError {
    match failure {
        Failure::Lost(message) => refused("connect", message, "Does this port speak the right protocol?", true),
        Failure::Retry(error) | Failure::Fatal(error) => from_server(error),
    }
}

/// A statement of the workload that the server does not take.
pub fn not_prepared(failure: Failure) -> ConnectError {
    from_failure(failure, |mut error| {
        error.message = format!("a statement of the workload could not be prepared: {}", error.message);
        if error.hint.is_empty() {
            error.hint = "Has the dataset been loaded into this database?".into();
        }
        ConnectError {
            class: "sql",
            error,
            transient: false,
        }
    })
}
