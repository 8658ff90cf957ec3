//! Bulk loading by INSERT with many rows. LOAD DATA LOCAL would parse a little less, but turns errors into warnings and
//! is switched off on many servers; so does this work everywhere, and errors stay errors.

/// Statements are sent when they have this many bytes: far below any `max_allowed_packet`, far above a row.
pub const INSERT_BYTES: usize = 512 * 1024;

/// Appends tab-separated lines (`\N` for NULL, backslash escapes) as `(…),(…),`. `backslashes`: the server takes them
/// as escapes inside literals.
pub fn values(out: &mut Vec<u8>, lines: &[u8], backslashes: bool) {
    for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        out.push(b'(');
        for cell in line.split(|byte| *byte == b'\t') {
            value(out, cell, backslashes);
            out.push(b',');
        }
        if let Some(last) = out.last_mut() {
            *last = b')';
        }
        out.push(b',');
    }
}

fn value(out: &mut Vec<u8>, cell: &[u8], backslashes: bool) {
    if cell == b"\\N" {
        out.extend_from_slice(b"NULL");
        return;
    }
    if is_integer(cell) {
        out.extend_from_slice(cell);
        return;
    }
    out.push(b'\'');
    if cell.iter().any(|byte| matches!(byte, b'\'' | b'\\')) {
        escaped(out, cell, backslashes);
    } else {
        out.extend_from_slice(cell);
    }
    out.push(b'\'');
}

/// A number that reads the same as a text: no leading zeros, within 64 bits.
fn is_integer(cell: &[u8]) -> bool {
    let digits = cell.strip_prefix(b"-").unwrap_or(cell);
    (1..=18).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit) && (digits[0] != b'0' || cell == b"0")
}

#[cold]
fn escaped(out: &mut Vec<u8>, cell: &[u8], backslashes: bool) {
    let mut bytes = cell.iter().copied();
    while let Some(byte) = bytes.next() {
        let byte = match byte {
            b'\\' => match bytes.next() {
                Some(b't') => b'\t',
                Some(b'n') => b'\n',
                Some(b'r') => b'\r',
                Some(other) => other,
                None => b'\\',
            },
            other => other,
        };
        if byte == b'\'' || (byte == b'\\' && backslashes) {
            out.push(byte);
        }
        out.push(byte);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(lines: &str, backslashes: bool) -> String {
        let mut out = Vec::new();
        values(&mut out, lines.as_bytes(), backslashes);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn lines_become_rows() {
        assert_eq!(of("1\t\\N\tabc\n-2\t007\t\n", true), "(1,NULL,'abc'),(-2,'007',''),");
        assert_eq!(
            of("1.50\t1234567890123456789\t-0\n", true),
            "('1.50','1234567890123456789','-0'),"
        );
    }

    #[test]
    fn quotes_and_backslashes_stay_what_they_are() {
        assert_eq!(of("it's\ta\\tb\\\\c\n", true), "('it''s','a\tb\\\\c'),");
        assert_eq!(of("it's\ta\\tb\\\\c\n", false), "('it''s','a\tb\\c'),");
    }
}
