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

/// Any failure of a session.
pub fn session(failure: &Failure) -> ErrorEvent {
    match failure {
        Failure::Lost(message) => own("connect", message.clone(), "See the server's log."),
        Failure::Retry(error) | Failure::Fatal(error) => server(error),
    }
}
