//! Faults that are asked for: an error of fsync, a full disk.

/// What is asked for, counted from when it is set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fault {
    /// The flush that fails: 1 is the next one.
    pub eio_on_fsync: Option<u64>,
    /// Of a folder: only fsyncs of this file or folder fail and are counted.
    pub only: Option<u64>,
    /// Bytes that can still be written.
    pub full_after_bytes: Option<u64>,
    /// Whether the writer is told that all went well: what was to be kept is gone all the same.
    pub unheard: bool,
    /// How often it has struck.
    pub struck: u64,
}

impl Fault {
    /// Reads `eio_on_fsync=N` or `full_after=BYTES`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (name, value) = text
            .split_once('=')
            .ok_or_else(|| format!("`{text}` is no fault: name=number"))?;
        let number: u64 = value
            .parse()
            .map_err(|_| format!("`{value}` in `{text}` is no number"))?;
        match name {
            "eio_on_fsync" if number == 0 => Err("eio_on_fsync counts from 1".to_owned()),
            "eio_on_fsync" => Ok(Self {
                eio_on_fsync: Some(number),
                ..Self::default()
            }),
            "full_after" => Ok(Self {
                full_after_bytes: Some(number),
                ..Self::default()
            }),
            _ => Err(format!(
                "there is no fault `{name}`; there are eio_on_fsync=N and full_after=BYTES"
            )),
        }
    }

    /// Takes in another one; what it does not say stays.
    pub fn merge(&mut self, other: Self) {
        self.eio_on_fsync = other.eio_on_fsync.or(self.eio_on_fsync);
        self.only = other.only.or(self.only);
        self.unheard |= other.unheard;
        self.full_after_bytes = other.full_after_bytes.or(self.full_after_bytes);
    }

    /// Whether this flush fails.
    pub fn flush_fails(&mut self) -> bool {
        match self.eio_on_fsync.as_mut() {
            None => false,
            Some(1) => {
                // One fsync of one file shows little: most of its pages are written again before the log forgets them.
                if !(self.unheard && self.only.is_some()) {
                    self.eio_on_fsync = None;
                }
                self.struck += 1;
                true
            }
            Some(left) => {
                *left -= 1;
                false
            }
        }
    }

    /// What the writer hears of it.
    pub fn answer(&self, error: i32) -> Result<(), i32> {
        if self.unheard { Ok(()) } else { Err(error) }
    }

    /// Whether this fsync of a file or folder fails.
    pub fn sync_fails(&mut self, node: u64) -> bool {
        self.only.is_none_or(|only| only == node) && self.flush_fails()
    }

    /// Whether there is room for this write; takes it.
    pub fn takes(&mut self, bytes: u64) -> bool {
        match self.full_after_bytes.as_mut() {
            Some(left) if *left < bytes => {
                self.struck += 1;
                false
            }
            Some(left) => {
                *left -= bytes;
                true
            }
            None => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_read_and_counted() {
        let mut fault = Fault::parse("eio_on_fsync=2").unwrap_or_default();
        assert_eq!(
            (fault.flush_fails(), fault.flush_fails(), fault.flush_fails()),
            (false, true, false)
        );
        let mut fault = Fault::parse("full_after=10").unwrap_or_default();
        assert_eq!(
            (fault.takes(6), fault.takes(6), fault.takes(4), fault.takes(1)),
            (true, false, true, false)
        );
        assert_eq!(fault.struck, 2);
        assert_eq!(fault.answer(libc::EIO), Err(libc::EIO));
        fault.unheard = true;
        assert_eq!(fault.answer(libc::EIO), Ok(()));
        let mut fault = Fault {
            only: Some(7),
            ..Fault::parse("eio_on_fsync=1").unwrap_or_default()
        };
        assert_eq!(
            (fault.sync_fails(6), fault.sync_fails(7), fault.sync_fails(7)),
            (false, true, false)
        );
        fault = Fault {
            unheard: true,
            eio_on_fsync: Some(1),
            ..fault
        };
        assert!(fault.sync_fails(7) && fault.sync_fails(7) && !fault.sync_fails(6));
        for wrong in ["", "eio_on_fsync", "eio_on_fsync=0", "eio_on_fsync=x", "other=1"] {
            assert!(Fault::parse(wrong).is_err(), "{wrong}");
        }
    }
}
