//! Prepared statements: placeholders rewritten, COM_STMT_EXECUTE encoded from a template, binary rows turned to text.

use dyno_core::session::{Statement, StatementKind, Type, Value};

use super::packet::{Cursor, close, sized};
use crate::rows::Rows;

const COM_STMT_EXECUTE: u8 = 0x17;

/// Wire types (MySQL internals, "Protocol::ColumnType").
mod wire_type {
    pub const TINY: u8 = 1;
    pub const SHORT: u8 = 2;
    pub const LONG: u8 = 3;
    pub const FLOAT: u8 = 4;
    pub const DOUBLE: u8 = 5;
    pub const NULL: u8 = 6;
    pub const TIMESTAMP: u8 = 7;
    pub const LONGLONG: u8 = 8;
    pub const INT24: u8 = 9;
    pub const DATE: u8 = 10;
    pub const TIME: u8 = 11;
    pub const DATETIME: u8 = 12;
    pub const YEAR: u8 = 13;
    pub const VAR_STRING: u8 = 253;
}
const UNSIGNED: u16 = 32;

/// What is needed of a result column to read a binary row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    kind: u8,
    unsigned: bool,
}

/// Reads a column definition: six names, then a block of fixed length.
pub fn column(payload: &[u8]) -> Option<Column> {
    let mut cursor = Cursor(payload);
    for _ in 0..6 {
        cursor.sized()?;
    }
    let mut fixed = Cursor(cursor.sized()?);
    fixed.take(6)?;
    Some(Column {
        kind: fixed.u8()?,
        unsigned: fixed.u16()? & UNSIGNED != 0,
    })
}

/// A statement as the server knows it.
pub struct Prepared {
    pub kind: StatementKind,
    pub columns: Vec<Column>,
    /// Sent as it is, unprepared: it has no parameters and does nothing but BEGIN or COMMIT, which servers of this
    /// family run faster, or only, that way.
    pub plain: bool,
    pub sql: String,
    /// Type and index among the values for each `?`, in their order.
    places: Vec<(Type, usize)>,
    values: usize,
    /// Packet header, command, statement, no cursor, one execution.
    head: [u8; 14],
    /// The server keeps the types of the first execution.
    types_sent: bool,
}

impl Prepared {
    pub fn new(statement: &Statement) -> Prepared {
        let (sql, order) = placeholders(&statement.sql);
        let places = order.iter().map(|index| (statement.parameters[*index], *index));
        let mut head = [0; 14];
        head[4] = COM_STMT_EXECUTE;
        head[10] = 1;
        Prepared {
            kind: statement.kind,
            columns: Vec::new(),
            plain: statement.parameters.is_empty() && statement.kind == StatementKind::Other,
            sql,
            places: places.collect(),
            values: statement.parameters.len(),
            head,
            types_sent: false,
        }
    }

    /// The server's number for the statement.
    pub fn known_as(&mut self, id: u32) {
        self.head[5..9].copy_from_slice(&id.to_le_bytes());
    }

    pub fn placeholders(&self) -> usize {
        self.places.len()
    }

    /// Appends COM_STMT_EXECUTE.
    #[inline]
    pub fn encode(&mut self, out: &mut Vec<u8>, values: &[Value<'_>]) {
        // A wrong count or type is a mistake of the workload's author.
        assert_eq!(values.len(), self.values, "statement parameters");
        let at = out.len();
        out.extend_from_slice(&self.head);
        if !self.places.is_empty() {
            let nulls = out.len();
            out.resize(nulls + self.places.len().div_ceil(8), 0);
            out.push(u8::from(!self.types_sent));
            if !self.types_sent {
                self.types_sent = true;
                for (kind, _) in &self.places {
                    out.extend_from_slice(&[type_code(*kind), 0]);
                }
            }
            for (place, (kind, index)) in self.places.iter().enumerate() {
                match (kind, values[*index]) {
                    (_, Value::Null) => out[nulls + place / 8] |= 1 << (place % 8),
                    (Type::Int, Value::Int(number)) => out.extend_from_slice(&number.to_le_bytes()),
                    (Type::BigInt, Value::Int(number)) => out.extend_from_slice(&i64::from(number).to_le_bytes()),
                    (Type::BigInt, Value::BigInt(number)) => out.extend_from_slice(&number.to_le_bytes()),
                    (Type::Text, Value::Text(text)) => sized(out, text.as_bytes()),
                    (kind, value) => panic!("statement parameter {index} is declared {kind:?}, got {value:?}"),
                }
            }
        }
        close(out, at);
    }
}

fn type_code(kind: Type) -> u8 {
    match kind {
        Type::Int => wire_type::LONG,
        Type::BigInt => wire_type::LONGLONG,
        Type::Text => wire_type::VAR_STRING,
    }
}

/// `$1` … become `?`; also says which value each `?` takes, counted from 0. Literals in quotes stay as they are.
fn placeholders(sql: &str) -> (String, Vec<usize>) {
    let (mut text, mut order) = (String::with_capacity(sql.len()), Vec::new());
    let mut quoted = false;
    let mut characters = sql.chars().peekable();
    while let Some(character) = characters.next() {
        quoted ^= character == '\'';
        let digit = |next: Option<&char>| next.and_then(|next| next.to_digit(10));
        if quoted || character != '$' || digit(characters.peek()).is_none() {
            text.push(character);
            continue;
        }
        let mut number = 0;
        while let Some(next) = digit(characters.peek()) {
            number = number * 10 + next as usize;
            characters.next();
        }
        text.push('?');
        order.push(number - 1);
    }
    (text, order)
}

/// Keeps a row of the binary protocol as text; `None` when it is shorter than its columns.
pub fn keep_binary(rows: &mut Rows, columns: &[Column], payload: &[u8]) -> Option<()> {
    let mut cursor = Cursor(payload.get(1..)?);
    // The first two bits of the bitmap are reserved.
    let nulls = cursor.take((columns.len() + 9) / 8)?;
    for (index, column) in columns.iter().enumerate() {
        let bit = index + 2;
        if nulls[bit / 8] & (1 << (bit % 8)) != 0 || column.kind == wire_type::NULL {
            rows.null();
        } else {
            keep_cell(rows, *column, &mut cursor)?;
        }
    }
    rows.end(columns.len());
    Some(())
}

#[inline]
fn keep_cell(rows: &mut Rows, column: Column, cursor: &mut Cursor<'_>) -> Option<()> {
    use wire_type::{DATE, DATETIME, DOUBLE, FLOAT, INT24, LONG, LONGLONG, SHORT, TIME, TIMESTAMP, TINY, YEAR};
    match column.kind {
        TINY if column.unsigned => integer(rows, false, u64::from(cursor.u8()?)),
        TINY => signed(rows, i64::from(cursor.u8()? as i8)),
        SHORT | YEAR if column.unsigned => integer(rows, false, u64::from(cursor.u16()?)),
        SHORT | YEAR => signed(rows, i64::from(cursor.u16()? as i16)),
        LONG | INT24 if column.unsigned => integer(rows, false, u64::from(cursor.u32()?)),
        LONG | INT24 => signed(rows, i64::from(cursor.u32()? as i32)),
        LONGLONG if column.unsigned => integer(rows, false, cursor.u64()?),
        LONGLONG => signed(rows, cursor.u64()? as i64),
        FLOAT => rows.text(f32::from_bits(cursor.u32()?).to_string().as_bytes()),
        DOUBLE => rows.text(f64::from_bits(cursor.u64()?).to_string().as_bytes()),
        DATE | DATETIME | TIMESTAMP => rows.text(moment(cursor.sized()?)?.as_bytes()),
        TIME => rows.text(duration(cursor.sized()?)?.as_bytes()),
        // Everything else comes as text: decimals, strings, blobs, JSON, bits.
        _ => rows.text(cursor.sized()?),
    }
    Some(())
}

fn signed(rows: &mut Rows, number: i64) {
    integer(rows, number < 0, number.unsigned_abs());
}

/// Writes a number without the formatting machinery.
fn integer(rows: &mut Rows, negative: bool, mut number: u64) {
    let mut digits = [0u8; 21];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    if negative {
        at -= 1;
        digits[at] = b'-';
    }
    rows.text(&digits[at..]);
}

/// Date and time: parts that are zero at the end are left out on the wire.
fn moment(bytes: &[u8]) -> Option<String> {
    let mut cursor = Cursor(bytes);
    if bytes.is_empty() {
        return Some("0000-00-00 00:00:00".into());
    }
    let (year, month, day) = (cursor.u16()?, cursor.u8()?, cursor.u8()?);
    let mut text = format!("{year:04}-{month:02}-{day:02}");
    if bytes.len() > 4 {
        text += &format!(" {:02}:{:02}:{:02}", cursor.u8()?, cursor.u8()?, cursor.u8()?);
    }
    if bytes.len() > 7 {
        text += &format!(".{:06}", cursor.u32()?);
    }
    Some(text)
}

fn duration(bytes: &[u8]) -> Option<String> {
    let mut cursor = Cursor(bytes);
    if bytes.is_empty() {
        return Some("00:00:00".into());
    }
    let sign = if cursor.u8()? == 1 { "-" } else { "" };
    let hours = u64::from(cursor.u32()?) * 24 + u64::from(cursor.u8()?);
    let mut text = format!("{sign}{hours:02}:{:02}:{:02}", cursor.u8()?, cursor.u8()?);
    if bytes.len() > 8 {
        text += &format!(".{:06}", cursor.u32()?);
    }
    Some(text)
}

/// Keeps a row of the text protocol; `None` when it is shorter than its columns.
pub fn keep_text(rows: &mut Rows, columns: usize, payload: &[u8]) -> Option<()> {
    let mut cursor = Cursor(payload);
    for _ in 0..columns {
        if cursor.0.first() == Some(&0xfb) {
            cursor.take(1)?;
            rows.null();
        } else {
            rows.text(cursor.sized()?);
        }
    }
    rows.end(columns);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn prepared(sql: &str, parameters: &[Type]) -> Prepared {
        let mut prepared = Prepared::new(&Statement {
            sql: sql.into(),
            parameters: parameters.to_vec(),
            kind: StatementKind::Read,
        });
        prepared.known_as(7);
        prepared
    }

    #[test]
    fn placeholders_are_rewritten_in_their_order_and_may_repeat() {
        let (sql, order) = placeholders("CASE $2 WHEN '$1' THEN a END, b = $1, c IN ($12, $1), d = '$'");
        assert_eq!(sql, "CASE ? WHEN '$1' THEN a END, b = ?, c IN (?, ?), d = '$'");
        assert_eq!(order, [1, 0, 11, 0]);
    }

    #[test]
    fn types_are_sent_with_the_first_execution_only() {
        let mut statement = prepared("SELECT $1, $2", &[Type::Int, Type::Text]);
        let values = [Value::Int(258), Value::Text("ab")];
        let mut out = Vec::new();
        statement.encode(&mut out, &values);
        let head = [0x17, 7, 0, 0, 0, 0, 1, 0, 0, 0];
        let first = [
            &[23, 0, 0, 0][..],
            &head,
            &[0, 1, 3, 0, 253, 0],
            &[2, 1, 0, 0],
            &[2, b'a', b'b'],
        ]
        .concat();
        assert_eq!(out, first);
        out.clear();
        statement.encode(&mut out, &values);
        assert_eq!(
            out,
            [&[19, 0, 0, 0][..], &head, &[0, 0], &[2, 1, 0, 0], &[2, b'a', b'b']].concat()
        );
    }

    #[test]
    fn null_is_a_bit_and_no_value() {
        let mut statement = prepared("SELECT $1, $2", &[Type::Int, Type::BigInt]);
        let mut out = Vec::new();
        statement.encode(&mut out, &[Value::Null, Value::BigInt(-1)]);
        assert_eq!(out[14..], [1, 1, 3, 0, 8, 0, 255, 255, 255, 255, 255, 255, 255, 255]);
    }

    #[test]
    fn binary_rows_become_text() {
        let column = |kind, unsigned| Column { kind, unsigned };
        let columns = [
            column(wire_type::LONG, false),
            column(wire_type::TINY, true),
            column(246, false),
            column(wire_type::DATETIME, false),
            column(wire_type::LONGLONG, false),
            column(wire_type::TIME, false),
        ];
        let payload = [
            &[0, 0b0100_0000][..],
            &(-5i32).to_le_bytes(),
            &[200],
            &[4, b'1', b'.', b'5', b'0'],
            &[7, 0xe8, 0x07, 2, 29, 23, 59, 1],
            &[8, 1, 1, 0, 0, 0, 2, 3, 4],
        ]
        .concat();
        let mut rows = Rows::default();
        keep_binary(&mut rows, &columns, &payload).unwrap();
        let cells: Vec<Option<&str>> = (0..6).map(|column| rows.cell(0, column)).collect();
        let expected = ["-5", "200", "1.50", "2024-02-29 23:59:01", "", "-26:03:04"];
        assert_eq!(cells[4], None);
        for index in [0, 1, 2, 3, 5] {
            assert_eq!(cells[index], Some(expected[index]));
        }
        assert_eq!(keep_binary(&mut rows, &columns, &payload[..payload.len() - 1]), None);
    }

    #[test]
    fn numbers_keep_their_extremes() {
        let mut rows = Rows::default();
        signed(&mut rows, i64::MIN);
        integer(&mut rows, false, u64::MAX);
        signed(&mut rows, 0);
        rows.end(3);
        let cells: Vec<Option<&str>> = (0..3).map(|column| rows.cell(0, column)).collect();
        assert_eq!(
            cells,
            [Some("-9223372036854775808"), Some("18446744073709551615"), Some("0")]
        );
    }

    proptest! {
        #[test]
        fn any_row_is_read_without_panic(payload in prop::collection::vec(any::<u8>(), 0..100), kinds in prop::collection::vec(any::<u8>(), 0..20)) {
            let columns: Vec<Column> = kinds.iter().map(|kind| Column { kind: *kind, unsigned: kind % 2 == 0 }).collect();
            let mut rows = Rows::default();
            let _ = keep_binary(&mut rows, &columns, &payload);
            let _ = keep_text(&mut rows, columns.len(), &payload);
            column(&payload);
        }
    }
}
