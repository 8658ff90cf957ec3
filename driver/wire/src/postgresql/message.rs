//! Messages of protocol version 3 (manual, "Message Formats"): what we send is appended to one reused buffer, what we
//! receive is walked by its length headers.

use dyno_core::session::{ServerError, Statement, StatementKind, Type, Value};

use crate::pipeline::Frame;

/// Appends a message of `tag` whose body `body` writes.
pub fn message(out: &mut Vec<u8>, tag: u8, body: impl FnOnce(&mut Vec<u8>)) {
    out.push(tag);
    sized(out, body);
}

/// Appends a length and a body, as the startup message has it.
pub fn sized(out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    body(out);
    let length = (out.len() - at) as u32;
    out[at..at + 4].copy_from_slice(&length.to_be_bytes());
}

/// Appends a text with its final NUL.
pub fn text(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
    out.push(0);
}

/// OID of a declared parameter type: int4, int8, or 0 to let the server choose.
fn type_oid(parameter: Type) -> u32 {
    match parameter {
        Type::Int => 23,
        Type::BigInt => 20,
        Type::Text => 0,
    }
}

/// Execute (unnamed portal, all rows) and Sync, the same for every statement; first "no result formats" of Bind.
const TAIL: [u8; 2 + 10 + 5] = [0, 0, b'E', 0, 0, 0, 9, 0, 0, 0, 0, 0, b'S', 0, 0, 0, 4];

const SYNC_BYTES: usize = 5;

/// A prepared statement as a template: everything of Bind before the parameters' values.
pub struct Prepared {
    pub kind: StatementKind,
    pub frame: Frame,
    parameters: usize,
    head: Vec<u8>,
}

impl Prepared {
    /// The template of statement `index`; its name on the server is the index.
    pub fn new(index: usize, statement: &Statement) -> Prepared {
        let mut head = vec![b'B', 0, 0, 0, 0, 0];
        text(&mut head, &index.to_string());
        let count = (statement.parameters.len() as u16).to_be_bytes();
        head.extend_from_slice(&count);
        for parameter in &statement.parameters {
            let binary = u16::from(*parameter != Type::Text);
            head.extend_from_slice(&binary.to_be_bytes());
        }
        head.extend_from_slice(&count);
        Prepared {
            kind: statement.kind,
            frame: Frame::of(&statement.sql),
            parameters: statement.parameters.len(),
            head,
        }
    }

    /// Appends Bind, Execute and Sync.
    #[inline]
    pub fn encode(&self, out: &mut Vec<u8>, values: &[Value<'_>]) {
        // A wrong count is a mistake of the workload's author and would desynchronise nothing but confuse everyone.
        assert_eq!(values.len(), self.parameters, "statement parameters");
        let at = out.len();
        out.extend_from_slice(&self.head);
        for value in values {
            match *value {
                Value::Null => out.extend_from_slice(&(-1i32).to_be_bytes()),
                Value::Int(number) => {
                    let mut bytes = [0, 0, 0, 4, 0, 0, 0, 0];
                    bytes[4..].copy_from_slice(&number.to_be_bytes());
                    out.extend_from_slice(&bytes);
                }
                Value::BigInt(number) => {
                    let mut bytes = [0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0];
                    bytes[4..].copy_from_slice(&number.to_be_bytes());
                    out.extend_from_slice(&bytes);
                }
                Value::Text(text) => {
                    out.extend_from_slice(&(text.len() as u32).to_be_bytes());
                    out.extend_from_slice(text.as_bytes());
                }
            }
        }
        // Bind ends with the count of result formats, the first two bytes of the tail.
        let length = (out.len() - at - 1 + 2) as u32;
        out[at + 1..at + 5].copy_from_slice(&length.to_be_bytes());
        out.extend_from_slice(&TAIL);
    }
}

/// Takes the Sync away with which the last statement in `out` ends.
pub fn without_sync(out: &mut Vec<u8>) {
    out.truncate(out.len() - SYNC_BYTES);
}

/// Appends Parse, Bind and Execute of SQL without parameters, unnamed and without Sync.
pub fn once(out: &mut Vec<u8>, sql: &str) {
    message(out, b'P', |out| {
        text(out, "");
        text(out, sql);
        out.extend_from_slice(&[0, 0]);
    });
    message(out, b'B', |out| out.extend_from_slice(&[0; 2 + 6]));
    message(out, b'E', |out| out.extend_from_slice(&[0; 1 + 4]));
}

/// Appends Parse for statement `index`.
pub fn parse(out: &mut Vec<u8>, index: usize, statement: &Statement) {
    message(out, b'P', |out| {
        text(out, &index.to_string());
        text(out, &statement.sql);
        out.extend_from_slice(&(statement.parameters.len() as u16).to_be_bytes());
        for parameter in &statement.parameters {
            out.extend_from_slice(&type_oid(*parameter).to_be_bytes());
        }
    });
}

/// Appends Sync.
pub fn sync(out: &mut Vec<u8>) {
    out.extend_from_slice(&[b'S', 0, 0, 0, 4]);
}

/// Fields of ErrorResponse (manual, "Error and Notice Message Fields").
pub fn server_error(body: &[u8]) -> ServerError {
    let mut error = ServerError::default();
    for field in body.split(|byte| *byte == 0).filter(|field| !field.is_empty()) {
        let value = String::from_utf8_lossy(&field[1..]).into_owned();
        match field[0] {
            b'C' => error.code = value,
            b'M' => error.message = value,
            b'D' => error.detail = value,
            b'H' => error.hint = value,
            _ => {}
        }
    }
    error
}

/// Rows that a CommandComplete tag tells of ("INSERT 0 1", "SELECT 5", "COPY 3"); 0 for "BEGIN" and the like.
#[inline]
pub fn tag_rows(tag: &[u8]) -> u64 {
    let mut rows = 0u64;
    let mut place = 1u64;
    for byte in tag.iter().rev().skip_while(|byte| **byte == 0) {
        match byte {
            b'0'..=b'9' => {
                rows += u64::from(byte - b'0') * place;
                place = place.wrapping_mul(10);
            }
            b' ' => return rows,
            _ => return 0,
        }
    }
    0
}

/// Kind of an unprepared statement by its CommandComplete tag.
pub fn tag_kind(tag: &[u8]) -> StatementKind {
    match tag.split(|byte| *byte == b' ').next() {
        Some(b"SELECT") => StatementKind::Read,
        Some(b"INSERT" | b"UPDATE" | b"DELETE" | b"MERGE" | b"COPY") => StatementKind::Write,
        _ => StatementKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn tags_tell_rows_and_kind() {
        for (tag, rows, kind) in [
            (&b"INSERT 0 1\0"[..], 1, StatementKind::Write),
            (b"SELECT 100\0", 100, StatementKind::Read),
            (b"BEGIN\0", 0, StatementKind::Other),
            (b"CREATE TABLE\0", 0, StatementKind::Other),
        ] {
            assert_eq!((tag_rows(tag), tag_kind(tag)), (rows, kind));
        }
    }

    #[test]
    fn a_statement_is_encoded_as_the_manual_says() {
        let statement = Statement {
            sql: String::new(),
            parameters: vec![Type::Int],
            kind: StatementKind::Read,
        };
        let mut out = Vec::new();
        Prepared::new(7, &statement).encode(&mut out, &[Value::Int(258)]);
        let bind = [
            b'B', 0, 0, 0, 23, 0, b'7', 0, 0, 1, 0, 1, 0, 1, 0, 0, 0, 4, 0, 0, 1, 2, 0, 0,
        ];
        assert_eq!(out, [&bind[..], &TAIL[2..]].concat());
    }

    proptest! {
        #[test]
        fn encoded_lengths_always_fit(texts in prop::collection::vec(".{0,40}", 0..6)) {
            let statement =
                Statement { sql: String::new(), parameters: vec![Type::Text; texts.len()], kind: StatementKind::Write };
            let values: Vec<Value<'_>> = texts.iter().map(|text| Value::Text(text)).collect();
            let mut out = Vec::new();
            Prepared::new(0, &statement).encode(&mut out, &values);
            let mut at = 0;
            let mut tags = Vec::new();
            while at < out.len() {
                tags.push(out[at]);
                at += 1 + u32::from_be_bytes(out[at + 1..at + 5].try_into().unwrap()) as usize;
            }
            prop_assert_eq!(at, out.len());
            prop_assert_eq!(tags, b"BES");
        }

        #[test]
        fn any_error_body_is_read_without_panic(body in prop::collection::vec(any::<u8>(), 0..200)) {
            server_error(&body);
            tag_rows(&body);
        }
    }
}
