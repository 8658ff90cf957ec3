//! Packets of the client/server protocol (MySQL 8.0 internals, "Client/Server Protocol"; MariaDB Knowledge Base,
//! "Client/Server Protocol"): what we send is appended to one reused buffer, what we receive is read by a cursor.

use dyno_core::session::ServerError;

/// Capability flags. The upper 32 bits are MariaDB's own.
pub mod capability {
    pub const LONG_PASSWORD: u64 = 1;
    pub const CONNECT_WITH_DB: u64 = 1 << 3;
    pub const PROTOCOL_41: u64 = 1 << 9;
    pub const SSL: u64 = 1 << 11;
    pub const TRANSACTIONS: u64 = 1 << 13;
    pub const SECURE_CONNECTION: u64 = 1 << 15;
    pub const MULTI_STATEMENTS: u64 = 1 << 16;
    pub const MULTI_RESULTS: u64 = 1 << 17;
    pub const PS_MULTI_RESULTS: u64 = 1 << 18;
    pub const PLUGIN_AUTH: u64 = 1 << 19;
    pub const CONNECT_ATTRS: u64 = 1 << 20;
    pub const PLUGIN_AUTH_LENENC: u64 = 1 << 21;
    pub const DEPRECATE_EOF: u64 = 1 << 24;
    /// A result whose columns are those that were told at its preparation does not tell them again.
    pub const CACHE_METADATA: u64 = 1 << 36;
}

/// Status flags of OK and EOF packets.
pub const STATUS_IN_TRANSACTION: u16 = 1;
pub const STATUS_AUTOCOMMIT: u16 = 2;
pub const STATUS_MORE_RESULTS: u16 = 8;
pub const STATUS_NO_BACKSLASH_ESCAPES: u16 = 512;

pub const COM_QUERY: u8 = 3;

pub const OK: u8 = 0;
pub const EOF: u8 = 0xfe;
pub const ERROR: u8 = 0xff;
pub const LOCAL_FILE: u8 = 0xfb;
/// A packet of this length goes on in the next one.
pub const PAYLOAD_BYTES_MAX: usize = 0xff_ffff;

/// Appends a packet whose payload `body` writes.
#[inline]
pub fn packet(out: &mut Vec<u8>, sequence: u8, body: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    out.extend_from_slice(&[0, 0, 0, sequence]);
    body(out);
    close(out, at);
}

/// Writes the length of the packet that begins at `at` and ends with the buffer.
#[inline]
pub fn close(out: &mut [u8], at: usize) {
    let length = out.len() - at - 4;
    // Statements and rows of ours are far shorter; a longer one would be cut in two and misunderstood.
    assert!(length < PAYLOAD_BYTES_MAX, "a packet of {length} bytes");
    out[at..at + 3].copy_from_slice(&(length as u32).to_le_bytes()[..3]);
}

/// Appends a length-encoded integer.
#[inline]
pub fn length(out: &mut Vec<u8>, value: usize) {
    match value {
        0..=250 => out.push(value as u8),
        251..=0xffff => {
            out.push(0xfc);
            out.extend_from_slice(&(value as u16).to_le_bytes());
        }
        _ => {
            out.push(0xfd);
            out.extend_from_slice(&(value as u32).to_le_bytes()[..3]);
        }
    }
}

/// Appends bytes with their length in front.
#[inline]
pub fn sized(out: &mut Vec<u8>, bytes: &[u8]) {
    length(out, bytes.len());
    out.extend_from_slice(bytes);
}

/// Appends bytes with a final NUL.
pub fn terminated(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(bytes);
    out.push(0);
}

/// Reads a payload from its start; every step is `None` when the payload is too short.
#[derive(Clone, Copy)]
pub struct Cursor<'a>(pub &'a [u8]);

impl<'a> Cursor<'a> {
    #[inline]
    pub fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*taken)
    }

    #[inline]
    pub fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    #[inline]
    pub fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    #[inline]
    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    #[inline]
    pub fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// A length-encoded integer; `None` also for the NULL of a text row (0xfb).
    #[inline]
    pub fn length(&mut self) -> Option<u64> {
        match self.u8()? {
            small @ 0..=0xfa => Some(u64::from(small)),
            0xfc => self.u16().map(u64::from),
            0xfd => {
                let [a, b, c] = self.array()?;
                Some(u64::from(u32::from_le_bytes([a, b, c, 0])))
            }
            0xfe => self.u64(),
            _ => None,
        }
    }

    /// Bytes with their length in front.
    #[inline]
    pub fn sized(&mut self) -> Option<&'a [u8]> {
        let count = self.length()?;
        self.take(usize::try_from(count).ok()?)
    }

    /// Bytes up to a NUL, or to the end where there is none.
    pub fn terminated(&mut self) -> &'a [u8] {
        let end = self.0.iter().position(|byte| *byte == 0);
        let text = &self.0[..end.unwrap_or(self.0.len())];
        self.0 = end.map_or(&[], |end| &self.0[end + 1..]);
        text
    }
}

/// What an OK packet says, or the packet that ends rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    pub affected: u64,
    pub status: u16,
}

/// Reads an OK packet; with `DEPRECATE_EOF` the end of rows has the same form under another first byte.
#[inline]
pub fn ok(payload: &[u8]) -> Option<Done> {
    let mut cursor = Cursor(payload.get(1..)?);
    let affected = cursor.length()?;
    cursor.length()?;
    Some(Done {
        affected,
        status: cursor.u16()?,
    })
}

/// Reads an EOF packet of servers that know nothing else: warnings, status.
pub fn eof(payload: &[u8]) -> Option<Done> {
    let mut cursor = Cursor(payload.get(3..)?);
    Some(Done {
        affected: 0,
        status: cursor.u16()?,
    })
}

/// Reads an ERR packet. Before the handshake's end it has no SQLSTATE.
pub fn server_error(payload: &[u8]) -> ServerError {
    let mut cursor = Cursor(payload.get(1..).unwrap_or_default());
    let number = cursor.u16().unwrap_or(0);
    if cursor.0.first() == Some(&b'#') {
        cursor.take(6);
    }
    super::errors::error(number, String::from_utf8_lossy(cursor.0).into_owned())
}

/// The server's first packet.
#[derive(Debug, PartialEq, Eq)]
pub struct Greeting {
    pub version: String,
    pub capabilities: u64,
    pub plugin: String,
    /// What the answer is mixed with, 20 bytes.
    pub nonce: Vec<u8>,
}

/// Reads the greeting (protocol version 10). MariaDB leaves LONG_PASSWORD unset to say that its own capabilities follow.
pub fn greeting(payload: &[u8]) -> Option<Greeting> {
    let mut cursor = Cursor(payload);
    if cursor.u8()? != 10 {
        return None;
    }
    let version = String::from_utf8_lossy(cursor.terminated()).into_owned();
    cursor.take(4)?;
    let mut nonce = cursor.take(8)?.to_vec();
    cursor.take(1)?;
    let mut capabilities = u64::from(cursor.u16()?);
    cursor.take(3)?;
    capabilities |= u64::from(cursor.u16()?) << 16;
    let nonce_length = usize::from(cursor.u8()?);
    cursor.take(6)?;
    let own = u64::from(cursor.u32()?);
    if capabilities & capability::LONG_PASSWORD == 0 {
        capabilities |= own << 32;
    }
    let rest = cursor.take(nonce_length.saturating_sub(8).max(13))?;
    nonce.extend_from_slice(rest.strip_suffix(&[0]).unwrap_or(rest));
    Some(Greeting {
        version,
        capabilities,
        plugin: String::from_utf8_lossy(cursor.terminated()).into_owned(),
        nonce,
    })
}

/// Appends the command that runs SQL as text.
#[inline]
pub fn query(out: &mut Vec<u8>, sql: &[u8]) {
    packet(out, 0, |out| {
        out.push(COM_QUERY);
        out.extend_from_slice(sql);
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The first packet of MariaDB 10.11.19, captured from a Unix socket.
    const MARIADB: &[u8] = include_bytes!("captured/mariadb-10.11-greeting.bin");
    /// The first packet of MySQL 8.0.12.
    const MYSQL: &[u8] = include_bytes!("captured/mysql-8.0-greeting.bin");

    #[test]
    fn greetings_of_both_vendors_are_read() {
        let mariadb = greeting(&MARIADB[4..]).unwrap();
        assert!(mariadb.version.contains("10.11"), "{mariadb:?}");
        assert_eq!(
            (mariadb.plugin.as_str(), mariadb.nonce.len()),
            ("mysql_native_password", 20)
        );
        assert_ne!(mariadb.capabilities & capability::CACHE_METADATA, 0);
        let mysql = greeting(&MYSQL[4..]).unwrap();
        assert_eq!(mysql.version, "8.0.12");
        assert_eq!(
            (mysql.plugin.as_str(), mysql.nonce.len()),
            ("caching_sha2_password", 20)
        );
        assert_eq!(mysql.capabilities & capability::CACHE_METADATA, 0);
        assert_ne!(mysql.capabilities & capability::SSL, 0);
    }

    #[test]
    fn an_error_is_read_with_and_without_sqlstate() {
        let deadlock = server_error(b"\xff\xbd\x04#40001Deadlock found");
        assert_eq!(
            (deadlock.code.as_str(), deadlock.message.as_str()),
            ("1213", "Deadlock found")
        );
        let full = server_error(b"\xff\x10\x04Too many connections");
        assert_eq!(
            (full.code.as_str(), full.message.as_str()),
            ("1040", "Too many connections")
        );
    }

    #[test]
    fn ok_packets_tell_rows_and_status() {
        let done = Done {
            affected: 1000,
            status: 3,
        };
        assert_eq!(ok(&[0, 0xfc, 0xe8, 3, 0, 3, 0, 0, 0]), Some(done));
        assert_eq!(ok(&[0, 0xfc, 0xe8]), None);
        assert_eq!(
            eof(&[EOF, 0, 0, 0x0a, 0]),
            Some(Done {
                affected: 0,
                status: 10
            })
        );
    }

    proptest! {
        #[test]
        fn lengths_come_back(value in 0usize..0xff_ffff) {
            let mut out = Vec::new();
            length(&mut out, value);
            prop_assert_eq!(Cursor(&out).length(), Some(value as u64));
        }

        #[test]
        fn any_payload_is_read_without_panic(payload in prop::collection::vec(any::<u8>(), 0..200)) {
            server_error(&payload);
            greeting(&payload);
            ok(&payload);
            eof(&payload);
        }
    }
}
