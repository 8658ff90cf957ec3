//! From a failure to the `error` event that tells of it.

use dyno_core::event::ErrorEvent;
use dyno_core::session::{Failure, ServerError};
use dyno_wire::{ConnectError, error_class};

/// An error of our own making.
pub fn own(class: &'static str, message: impl Into<String>, hint: impl Into<String>) -> ErrorEvent {
    ErrorEvent {
        class,
        code: String::new(),
        message: message.into(),
        hint: hint.into(),
    }
}

/// An error that the operating system reported while we did `what`.
pub fn io(what: &str, error: &std::io::Error) -> ErrorEvent {
    own("io", format!("{what}: {error}"), "")
}

/// The server's own words.
pub fn server(error: &ServerError) -> ErrorEvent {
    let class = match error_class(&error.code) {
        "disk_full" => "disk_full",
        "auth" => "auth",
        _ => "sql",
    };
    let message = match error.detail.as_str() {
        "" => error.message.clone(),
        detail => format!("{} ({detail})", error.message),
    };
    let hint = match (class, error.hint.as_str()) {
        ("disk_full", "") => {
            "The server's disk is full. Make room and start again; an interrupted load goes on.".into()
        }
        (_, hint) => hint.to_string(),
    };
    ErrorEvent {
        class,
        code: error.code.clone(),
        message,
        hint,
    }
}

/// A connection that could not be opened.
pub fn connect(error: &ConnectError) -> ErrorEvent {
    ErrorEvent {
        class: error.class,
        ..server(&error.error)
    }
}

/// A connection that could not be opened when the plan's `threads` were to be.
pub fn first_connect(error: &ConnectError, threads: u32) -> ErrorEvent {
    let mut event = connect(error);
    if error_class(&error.error.code) == "too_many_connections" {
        event.message = format!("the server has no room for {threads} connections: {}", event.message);
        event.hint = format!("Raise the server's limit of connections above {threads}, or ask for fewer threads.");
    }
    event
}

/// Any failure of a session.
pub fn session(failure: &Failure) -> ErrorEvent {
    match failure {
        Failure::Lost(message) => own("connect", message.clone(), "See the server's log."),
        Failure::Retry(error) | Failure::Fatal(error) => server(error),
    }
}
