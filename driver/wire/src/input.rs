//! What has arrived and is not read yet: one buffer that is filled by as few system calls as possible.

use std::io;

use crate::socket::Socket;

/// Bytes asked for in one receive. Servers send in pieces of 8 or 16 KiB.
const RECEIVE_BYTES: usize = 32 * 1024;
/// The longest piece of a message kept aside while a bigger one is read.
const BUFFER_BYTES_KEPT: usize = 1024 * 1024;

pub struct Input {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

impl Input {
    pub fn new() -> Input {
        Input {
            bytes: vec![0; RECEIVE_BYTES],
            start: 0,
            end: 0,
        }
    }

    /// What is there and not taken.
    #[inline]
    pub fn unread(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// Takes `count` bytes of what is there; returns where they began.
    #[inline]
    pub fn take(&mut self, count: usize) -> usize {
        let at = self.start;
        self.start += count;
        at
    }

    /// Bytes that were taken and not overwritten yet, which the next `fill` may do.
    #[inline]
    pub fn taken(&self, start: usize, end: usize) -> &[u8] {
        &self.bytes[start..end]
    }

    /// Waits for more.
    #[inline]
    pub async fn fill(&mut self, socket: &mut Socket) -> io::Result<()> {
        if self.start == self.end {
            self.start = 0;
            self.end = 0;
            if self.bytes.len() > BUFFER_BYTES_KEPT {
                self.bytes.truncate(RECEIVE_BYTES);
                self.bytes.shrink_to_fit();
            }
        } else if self.end == self.bytes.len() || self.start > RECEIVE_BYTES / 2 {
            self.bytes.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
            if self.bytes.len() - self.end < RECEIVE_BYTES / 2 {
                self.bytes.resize(self.bytes.len() * 2, 0);
            }
        }
        let received = socket.receive(&mut self.bytes[self.end..]).await?;
        if received == 0 {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the server closed the connection",
            ));
        }
        self.end += received;
        Ok(())
    }
}
