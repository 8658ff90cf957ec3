//! A connection to a server as the protocols use it: a stream socket, encrypted or not.

use std::io;
use std::rc::Rc;

use dyno_core::plan::Target;

use crate::Runtime;
use crate::raw::Raw;
use crate::tls::{self, Cipher};

/// A connected socket.
pub struct Socket {
    raw: Raw,
    cipher: Option<Box<Cipher>>,
}

impl Socket {
    /// Connects to a Unix socket at `path` (a path that begins with NUL is abstract).
    pub fn connect_unix(path: &[u8], runtime: Rc<dyn Runtime>) -> io::Result<Socket> {
        let raw = Raw::connect_unix(path, runtime)?;
        Ok(Socket { raw, cipher: None })
    }

    /// Connects over TCP, trying every address of `host`.
    pub async fn connect_tcp(host: &str, port: u16, runtime: Rc<dyn Runtime>) -> io::Result<Socket> {
        let raw = Raw::connect_tcp(host, port, runtime).await?;
        Ok(Socket { raw, cipher: None })
    }

    /// Encrypts all that follows and checks the server as the target wants it; the message says what failed. `unread`:
    /// what arrived in the clear and was not read, of which there must be nothing.
    pub async fn encrypt(&mut self, target: &Target, unread: &[u8]) -> Result<(), String> {
        if !unread.is_empty() {
            return Err("the server went on in the clear after it had agreed to encrypt".into());
        }
        let cipher = tls::handshake(&mut self.raw, target).await?;
        self.cipher = Some(Box::new(cipher));
        Ok(())
    }

    /// Sends all of `bytes`.
    #[inline]
    pub async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.cipher {
            None => self.raw.send(bytes).await,
            Some(cipher) => cipher.send(&mut self.raw, bytes).await,
        }
    }

    /// Sends what fits without waiting: a farewell.
    pub fn send_now(&mut self, bytes: &[u8]) {
        match &mut self.cipher {
            None => self.raw.send_now(bytes),
            Some(cipher) => cipher.send_now(&mut self.raw, bytes),
        }
    }

    /// Reads what has arrived into `buffer`, waiting for the first byte; 0 at the end of the stream.
    #[inline]
    pub async fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.cipher {
            None => self.raw.receive(buffer).await,
            Some(cipher) => cipher.receive(&mut self.raw, buffer).await,
        }
    }

    /// The clock of the executor.
    #[inline]
    pub fn now_ns(&self) -> u64 {
        self.raw.now_ns()
    }
}
