//! Error numbers (MySQL 8.0 "Error Reference", MariaDB Knowledge Base "MariaDB Error Codes") as classes and advice.

use dyno_core::session::{Failure, ServerError};

/// Error number of the operating system, as servers quote it inside their own messages.
const NO_SPACE: &str = "28";
/// Errors of a storage engine whose reason stands in the text only.
const WITH_REASON_INSIDE: [u16; 6] = [3, 1026, 1030, 1105, 1180, 1296];

/// An error with advice where the server's words do not say what to do.
pub fn error(number: u16, message: String) -> ServerError {
    let full = WITH_REASON_INSIDE.contains(&number)
        && ["errno: 28", "error 28", "Errcode: 28", "No space left"]
            .iter()
            .any(|words| message.contains(words));
    let code = if full { NO_SPACE.to_string() } else { number.to_string() };
    ServerError {
        hint: hint(number).into(),
        code,
        message,
        ..ServerError::default()
    }
}

fn hint(number: u16) -> &'static str {
    match number {
        1040 | 1203 => "Raise max_connections (or the user's limit), or ask for fewer threads.",
        1044 | 1142 | 1227 => "Grant the user what is missing, or use another.",
        1045 | 1698 => "Check user, password and the host from which the user may connect.",
        1046 => "Name the database.",
        1047 => "The node is no part of a working cluster: see its wsrep status, or name another node.",
        1049 => "Create the database, or name another.",
        1129 | 1130 => "Let the user connect from this host.",
        1146 => "Has the dataset been loaded into this database?",
        1205 => "Another transaction holds the lock for longer than the server's lock wait timeout.",
        1251 | 1524 => "Use a user whose authentication plug-in both sides know.",
        1290 | 1792 | 1836 => "The server accepts no writes: it is read-only or a replica. Name another server.",
        1286 => "Name a storage engine that the server has loaded.",
        1461 => "Raise max_prepared_stmt_count, or ask for fewer threads or tables.",
        1665 => "Set binlog_format to ROW, or use another isolation level.",
        1820 | 1862 => "The password has expired: set a new one.",
        _ => "",
    }
}

/// Class of an error number.
pub fn error_class(code: &str) -> &'static str {
    match code {
        "1213" | "1614" => "deadlock",
        // A row changed since the snapshot (innodb_snapshot_isolation); rolled back during commit (group replication).
        "1020" | "3101" => "serialization",
        "1205" => "lock_wait",
        "1062" | "1586" => "duplicate_key",
        "1021" | "1114" | NO_SPACE => "disk_full",
        "1040" | "1203" | "1226" => "too_many_connections",
        // Shutdown, killed connection, idle too long.
        "1053" | "1079" | "1080" | "1927" | "3169" | "4031" => "lost",
        // Network errors while the server read or wrote.
        "1153" | "1158" | "1159" | "1160" | "1161" => "lost",
        "1044" | "1045" | "1129" | "1130" | "1251" | "1524" | "1698" | "1820" | "1862" | "3118" | "4151" => "auth",
        _ => "sql",
    }
}

/// What the driver does after an error.
pub fn failure(error: ServerError) -> Failure {
    match error_class(&error.code) {
        "deadlock" | "serialization" | "lock_wait" => Failure::Retry(error),
        "lost" => Failure::Lost(format!("{} ({})", error.message, error.code)),
        _ => Failure::Fatal(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_recognised_inside_an_engines_message() {
        let inside = error(
            1030,
            "Got error 28 \"No space left on device\" from storage engine InnoDB".into(),
        );
        assert_eq!(error_class(&inside.code), "disk_full");
        let other = error(
            1030,
            "Got error 168 \"Unknown (generic) error\" from storage engine InnoDB".into(),
        );
        assert_eq!((error_class(&other.code), other.code.as_str()), ("sql", "1030"));
        assert_eq!(error_class("1114"), "disk_full");
    }

    #[test]
    fn what_passes_is_repeated_and_what_does_not_ends_the_run() {
        let after = |number| failure(error(number, String::new()));
        assert!(matches!(after(1213), Failure::Retry(_)));
        assert!(matches!(after(1205), Failure::Retry(_)));
        assert!(matches!(after(1927), Failure::Lost(_)));
        assert!(matches!(after(1290), Failure::Fatal(_)));
        assert!(matches!(after(1064), Failure::Fatal(_)));
    }
}
