//! Where each sector of an image lies: a table of leaves that copies of it share until one changes.
//!
//! A copy costs 8 bytes for each half MiB of image; a leaf costs 4 KiB and is there once something was written in its
//! half MiB. So a full table takes 1/128 of the image.

use std::sync::Arc;

const LEAF_SECTORS: usize = 1024;
/// Marks a sector that lies in the overlay, at its own place.
const OVERLAY: u32 = 1 << 31;
/// The log may hold this many sectors (1 TiB).
pub const DATA_SECTORS_MAX: u64 = (OVERLAY - 1) as u64;

#[derive(Clone)]
struct Leaf([u32; LEAF_SECTORS]);

#[derive(Clone, Default)]
pub struct SectorMap {
    leaves: Vec<Option<Arc<Leaf>>>,
}

/// Where a run of sectors comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    Zeros,
    /// In the log, from this sector on.
    Log(u64),
    Overlay,
}

impl SectorMap {
    pub fn new(sectors: u64) -> Self {
        Self {
            leaves: vec![None; sectors.div_ceil(LEAF_SECTORS as u64) as usize],
        }
    }

    /// The sectors lie in the log, from `data` on.
    pub fn set_log(&mut self, sector: u64, sectors: u64, data: u64) {
        debug_assert!(data > 0 && data + sectors <= DATA_SECTORS_MAX + 1);
        self.fill(sector, sectors, data as u32, 1);
    }

    pub fn set_zeros(&mut self, sector: u64, sectors: u64) {
        self.fill(sector, sectors, 0, 0);
    }

    pub fn set_overlay(&mut self, sector: u64, sectors: u64) {
        self.fill(sector, sectors, OVERLAY, 0);
    }

    fn fill(&mut self, sector: u64, sectors: u64, mut value: u32, step: u32) {
        let end = sector + sectors;
        let mut at = sector;
        while at < end {
            let (number, first) = place(at);
            let last = ((end - at) as usize + first).min(LEAF_SECTORS);
            let leaf = &mut self.leaves[number];
            if value == 0 && (leaf.is_none() || last - first == LEAF_SECTORS) {
                *leaf = None;
            } else {
                let leaf = leaf.get_or_insert_with(|| Arc::new(Leaf([0; LEAF_SECTORS])));
                for slot in &mut Arc::make_mut(leaf).0[first..last] {
                    *slot = value;
                    value += step;
                }
            }
            at += (last - first) as u64;
        }
    }

    pub fn get(&self, sector: u64) -> Source {
        let (number, first) = place(sector);
        source(self.leaves[number].as_ref().map_or(0, |leaf| leaf.0[first]))
    }

    /// Calls `each` with the runs that a range is made of: first sector, length, source.
    pub fn runs(&self, sector: u64, sectors: u64, mut each: impl FnMut(u64, u64, Source)) {
        let end = sector + sectors;
        let mut at = sector;
        while at < end {
            let begin = self.get(at);
            let mut next = at + 1;
            while next < end && self.get(next) == after(begin, next - at) {
                next += 1;
            }
            each(at, next - at, begin);
            at = next;
        }
    }
}

fn place(sector: u64) -> (usize, usize) {
    (
        (sector / LEAF_SECTORS as u64) as usize,
        (sector % LEAF_SECTORS as u64) as usize,
    )
}

fn source(value: u32) -> Source {
    match value {
        0 => Source::Zeros,
        OVERLAY => Source::Overlay,
        data => Source::Log(u64::from(data)),
    }
}

fn after(begin: Source, distance: u64) -> Source {
    match begin {
        Source::Log(data) => Source::Log(data + distance),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_tells_what_was_set_last_and_a_copy_keeps_what_it_had(
            changes in prop::collection::vec((0u64..5000, 1u64..2000, 0u8..3), 1..40),
        ) {
            let sectors = 7000;
            let mut map = SectorMap::new(sectors);
            let mut plain = vec![Source::Zeros; sectors as usize];
            let mut copy = None;
            for (number, &(sector, many, how)) in changes.iter().enumerate() {
                let data = 1 + number as u64 * 10_000;
                match how {
                    0 => map.set_log(sector, many, data),
                    1 => map.set_zeros(sector, many),
                    _ => map.set_overlay(sector, many),
                }
                for index in 0..many {
                    plain[(sector + index) as usize] = match how {
                        0 => Source::Log(data + index),
                        1 => Source::Zeros,
                        _ => Source::Overlay,
                    };
                }
                if number == changes.len() / 2 {
                    copy = Some((map.clone(), plain.clone()));
                }
            }
            for (map, plain) in [Some((map, plain)), copy].into_iter().flatten() {
                let mut seen = Vec::new();
                map.runs(0, sectors, |first, many, begin| {
                    assert_eq!(first as usize, seen.len());
                    seen.extend((0..many).map(|distance| after(begin, distance)));
                });
                prop_assert_eq!(seen, plain);
            }
        }
    }
}
