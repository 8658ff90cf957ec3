//! Rows that a `query` keeps until the next call: one growing text, and where each cell lies in it.

/// Kept rows; cells are text, whatever form they came in.
#[derive(Default)]
pub struct Rows {
    bytes: Vec<u8>,
    /// Start and end of each cell in `bytes`; start > end for NULL.
    cells: Vec<(u32, u32)>,
    pub columns: usize,
    pub count: usize,
}

impl Rows {
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.cells.clear();
        self.columns = 0;
        self.count = 0;
    }

    #[inline]
    pub fn null(&mut self) {
        self.cells.push((1, 0));
    }

    #[inline]
    pub fn text(&mut self, text: &[u8]) {
        self.with(|bytes| bytes.extend_from_slice(text));
    }

    /// Appends the cell that `write` writes.
    #[inline]
    pub fn with(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.bytes.len() as u32;
        write(&mut self.bytes);
        self.cells.push((start, self.bytes.len() as u32));
    }

    /// Ends a row of `columns` cells.
    #[inline]
    pub fn end(&mut self, columns: usize) {
        self.columns = columns;
        self.count += 1;
    }

    pub fn cell(&self, row: usize, column: usize) -> Option<&str> {
        if row >= self.count || column >= self.columns {
            return None;
        }
        let (start, end) = *self.cells.get(row * self.columns + column)?;
        std::str::from_utf8(self.bytes.get(start as usize..end as usize)?).ok()
    }
}
