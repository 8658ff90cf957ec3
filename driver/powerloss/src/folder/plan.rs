//! Choosing crash states of a folder: half by rank and half at random, as for a disk.

use std::collections::HashSet;

use crate::folder::op::{BaseTree, Change, Op};
use crate::folder::rebuild::{Fate, byte_pieces};
use crate::random::Random;
use crate::state::{Kind, State};

/// A state that was chosen already is thrown for again, so often for each that is wanted.
const TRIES: u64 = 30;
/// So many operations before the cut are looked at for one that is still volatile.
const LOOK_BACK: u64 = 2_000;
const SEED_BITS: u32 = 53;

/// The operations between two syncs, failed ones among them.
#[derive(Clone, Copy, Debug)]
struct Window {
    flush_seq: u64,
    flush_time_ns: u64,
    next: Option<u64>,
    end_time_ns: u64,
    /// Index of the first operation that is not before the cut.
    end_index: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Name,
    Write,
    Size,
}

const CLASSES: [Class; 3] = [Class::Name, Class::Write, Class::Size];

impl Class {
    fn of(change: &Change) -> Option<Self> {
        match change {
            Change::Name { .. } | Change::Unname { .. } | Change::Rename { .. } => Some(Self::Name),
            Change::Write { .. } => Some(Self::Write),
            Change::Truncate { .. } | Change::Zero { .. } => Some(Self::Size),
            _ => None,
        }
    }

    fn rank(self) -> u32 {
        match self {
            Self::Name => 80,
            Self::Write => 75,
            Self::Size => 70,
        }
    }

    fn kinds(self) -> &'static [Kind] {
        match self {
            Self::Name | Self::Size => &[Kind::Prefix, Kind::Flush, Kind::Reorder, Kind::Subset],
            Self::Write => &[
                Kind::Torn512,
                Kind::Torn4k,
                Kind::Flush,
                Kind::Prefix,
                Kind::Subset,
                Kind::Reorder,
            ],
        }
    }
}

pub struct Planner<'a> {
    base: &'a BaseTree,
    ops: &'a [Op],
    fates: &'a [Fate],
    windows: Vec<Window>,
    random: Random,
    kinds: &'a [Kind],
}

impl<'a> Planner<'a> {
    pub fn new(base: &'a BaseTree, ops: &'a [Op], fates: &'a [Fate], kinds: &'a [Kind], seed: u64) -> Self {
        let mut planner = Self {
            base,
            ops,
            fates,
            windows: Vec::new(),
            random: Random::new(seed),
            kinds,
        };
        planner.windows = planner.find_windows();
        planner
    }

    fn find_windows(&self) -> Vec<Window> {
        let first_time_ns = self.ops.first().map_or(0, |op| op.time_ns);
        let mut open = Window {
            flush_seq: self.base.seq,
            flush_time_ns: first_time_ns,
            next: None,
            end_time_ns: first_time_ns,
            end_index: 0,
        };
        let mut windows = Vec::new();
        for (index, op) in self.ops.iter().enumerate() {
            let failed = matches!(op.change, Change::SyncFailed { .. });
            if failed || op.change.is_barrier() {
                windows.push(Window {
                    next: Some(op.seq),
                    end_time_ns: op.time_ns,
                    end_index: index,
                    ..open
                });
                if !failed {
                    (open.flush_seq, open.flush_time_ns) = (op.seq, op.time_ns);
                }
            }
        }
        let end_time_ns = self.ops.last().map_or(first_time_ns, |op| op.time_ns);
        windows.push(Window {
            end_time_ns,
            end_index: self.ops.len(),
            ..open
        });
        windows
    }

    /// Up to `count` states, those chosen by rank and at random in turn.
    pub fn states(mut self, count: usize) -> Vec<State> {
        let mut seen = HashSet::new();
        let mut states = Vec::new();
        for turn in 0..count as u64 * TRIES {
            if states.len() == count {
                break;
            }
            let by_rank = states.len() % 2 == 0;
            if let Some(state) = self.choose(turn, by_rank) {
                if seen.insert((state.kind, state.flush_seq, state.next_flush_seq, state.event)) {
                    let number = states.len();
                    let id = format!("{number:04}-{}-{}-{}", state.kind.name(), state.flush_seq, state.event);
                    states.push(State { id, ..state });
                }
            }
        }
        states
    }

    fn choose(&mut self, turn: u64, by_rank: bool) -> Option<State> {
        let window = self.windows[self.random.below(self.windows.len() as u64) as usize];
        let wanted = by_rank.then(|| CLASSES[(turn / 2 % CLASSES.len() as u64) as usize]);
        let kinds: Vec<_> = wanted
            .map_or(&Kind::ALL[..], Class::kinds)
            .iter()
            .filter(|kind| self.kinds.contains(kind))
            .collect();
        let kind = **kinds.get(self.random.below(kinds.len() as u64) as usize)?;
        let seed = self.random.number() >> (64 - SEED_BITS);
        let op = self.volatile(&window, wanted);
        let rank = wanted.map_or(30, Class::rank);
        let state = |event, why| State {
            id: String::new(),
            kind,
            flush_seq: window.flush_seq,
            next_flush_seq: window.next,
            seed,
            event,
            rank,
            why,
            picked_by: if by_rank { "rank" } else { "random" }.to_owned(),
            flush_time_monotonic_s: window.flush_time_ns as f64 / 1e9,
            time_monotonic_s: window.end_time_ns as f64 / 1e9,
        };
        if kind == Kind::Flush {
            return Some(state(0, "only what was synced".to_owned()));
        }
        let op = op?;
        let why = words(&op.change);
        match (kind.granularity(), &op.change) {
            (None, _) => Some(state(op.seq, why)),
            (Some(sectors), Change::Write { offset, bytes, .. }) => {
                let many = byte_pieces(*offset, *bytes, sectors * 512).len();
                (many > 1).then(|| state(op.seq, format!("{why}, in {many} pieces of which some are missing")))
            }
            (Some(_), _) => None,
        }
    }

    /// One of the latest operations before the cut that no sync covers.
    fn volatile(&mut self, window: &Window, wanted: Option<Class>) -> Option<&'a Op> {
        let first = window.end_index.saturating_sub(LOOK_BACK as usize);
        let end = window.next.unwrap_or(u64::MAX);
        let found: Vec<_> = (first..window.end_index)
            .filter(|index| self.fates[*index].open(window.flush_seq, end))
            .filter(|index| {
                Class::of(&self.ops[*index].change).is_some_and(|class| wanted.is_none_or(|want| want == class))
            })
            .collect();
        let chosen = self.random.below(found.len() as u64) as usize;
        found.get(chosen).map(|index| &self.ops[*index])
    }
}

fn words(change: &Change) -> String {
    match change {
        Change::Name { name, .. } => format!("new name {name}"),
        Change::Unname { name, .. } => format!("removed name {name}"),
        Change::Rename { name, new_name, .. } => format!("rename of {name} to {new_name}"),
        Change::Write {
            node, offset, bytes, ..
        } => format!("{bytes} bytes at {offset} of file {node}"),
        Change::Truncate { node, bytes } => format!("file {node} set to {bytes} bytes"),
        Change::Zero { node, offset, bytes } => format!("{bytes} zeros at {offset} of file {node}"),
        _ => String::new(),
    }
}
