//! Choosing crash states: half by rank, from what was being written, and half at random; the same seed the same.

use std::collections::{BTreeMap, HashSet};
use std::io;

use crate::classify::{Class, Classifier};
use crate::event::{Event, What};
use crate::random::Random;
use crate::replay::{Recording, Window};
use crate::state::{Kind, State, pieces};

/// Of each class so many events are looked at closely, chosen at random from all.
const SAMPLE_MAX: usize = 4096;
/// A state that was chosen already is thrown for again, so often for each that is wanted.
const TRIES: u64 = 30;
/// Rank of the moment right after a flush that a log write went before.
const RANK_COMMIT: u32 = 88;
/// Rank of a state chosen at random from a window of which nothing is known.
const RANK_RANDOM: u32 = 30;
/// Seeds stay whole numbers in any reader of JSON.
const SEED_BITS: u32 = 53;

struct Candidate {
    event: Event,
    file: Option<String>,
    window: usize,
}

pub struct Planner<'a> {
    recording: &'a Recording,
    windows: Vec<Window>,
    classes: BTreeMap<Class, Vec<Candidate>>,
    kinds: Vec<Kind>,
    random: Random,
}

impl<'a> Planner<'a> {
    pub fn new(recording: &'a Recording, classifier: &mut Classifier, kinds: &[Kind], seed: u64) -> io::Result<Self> {
        let windows = recording.windows();
        let mut random = Random::new(seed);
        let classes = sample(recording, &windows, classifier, &mut random)?;
        Ok(Self {
            recording,
            windows,
            classes,
            kinds: kinds.to_vec(),
            random,
        })
    }

    /// Up to `count` states, those chosen by rank (best first) and at random in turn.
    pub fn states(mut self, count: usize) -> io::Result<Vec<State>> {
        let mut seen = HashSet::new();
        let mut ranked = self.pick(count.div_ceil(2), &mut seen, Self::by_rank)?;
        let left = count - ranked.len();
        let mut random = self.pick(left, &mut seen, Self::at_random)?;
        let left = count - ranked.len() - random.len();
        ranked.extend(self.pick(left, &mut seen, Self::by_rank)?);
        ranked.sort_by_key(|state| std::cmp::Reverse(state.rank));
        let (mut ranked, mut states) = (ranked.into_iter(), Vec::new());
        let mut random = random.drain(..);
        loop {
            match (ranked.next(), random.next()) {
                (None, None) => break,
                pair => states.extend([pair.0, pair.1].into_iter().flatten()),
            }
        }
        for (number, state) in states.iter_mut().enumerate() {
            state.id = format!("{number:04}-{}-{}-{}", state.kind.name(), state.flush_seq, state.event);
        }
        Ok(states)
    }

    fn pick(
        &mut self,
        count: usize,
        seen: &mut HashSet<(Kind, u64, Option<u64>, u64)>,
        choose: fn(&mut Self, u64) -> io::Result<Option<State>>,
    ) -> io::Result<Vec<State>> {
        let mut states = Vec::new();
        for turn in 0..count as u64 * TRIES {
            if states.len() == count {
                break;
            }
            let Some(state) = choose(self, turn)? else { continue };
            if seen.insert((state.kind, state.flush_seq, state.next_flush_seq, state.event)) {
                states.push(state);
            }
        }
        Ok(states)
    }

    /// Classes take turns, some more often; of the kinds that suit a class any.
    fn by_rank(&mut self, turn: u64) -> io::Result<Option<State>> {
        let present: Vec<_> = Class::ALL
            .into_iter()
            .filter(|class| self.classes.contains_key(class))
            .flat_map(|class| std::iter::repeat_n(class, class.turns()))
            .collect();
        if present.is_empty() {
            return Ok(None);
        }
        let class = present[(turn % present.len() as u64) as usize];
        let suited: Vec<_> = suited(class)
            .iter()
            .copied()
            .filter(|kind| self.kinds.contains(kind))
            .collect();
        if suited.is_empty() {
            return Ok(None);
        }
        let kind = suited[self.random.below(suited.len() as u64) as usize];
        let many = self.classes[&class].len() as u64;
        let chosen = self.random.below(many) as usize;
        let seed = self.random.number() >> (64 - SEED_BITS);
        let candidate = &self.classes[&class][chosen];
        let (event, window) = (candidate.event, self.windows[candidate.window]);
        let file = candidate
            .file
            .as_deref()
            .map_or_else(String::new, |file| format!(" ({file})"));
        if kind == Kind::Flush {
            // Right after the flush that ended the window: what it promised must be there.
            return Ok(self
                .windows
                .get(candidate.window + 1)
                .filter(|next| next.flush_seq == next.begin)
                .map(|next| {
                    let rank = if class == Class::Log { RANK_COMMIT } else { class.rank() };
                    State {
                        rank,
                        why: format!("commit boundary{file}"),
                        ..plain(kind, next, 0, seed, "rank")
                    }
                }));
        }
        if !fits(kind, &event, &window) {
            return Ok(None);
        }
        let why = format!("{}{file}{}", class.words(), cut_words(kind, &event));
        Ok(Some(State {
            rank: class.rank(),
            why,
            ..plain(kind, &window, event.seq, seed, "rank")
        }))
    }

    /// Every flush is as likely as any other, and so is every event after it.
    fn at_random(&mut self, _: u64) -> io::Result<Option<State>> {
        let window = self.windows[self.random.below(self.windows.len() as u64) as usize];
        let kind = self.kinds[self.random.below(self.kinds.len() as u64) as usize];
        let chosen = self.random.below(window.count());
        let seed = self.random.number() >> (64 - SEED_BITS);
        let state = |event| State {
            rank: RANK_RANDOM,
            ..plain(kind, &window, event, seed, "random")
        };
        if kind == Kind::Flush {
            return Ok(Some(State {
                why: "right after a flush".to_owned(),
                ..state(0)
            }));
        }
        if window.count() == 0 {
            return Ok(None);
        }
        let event = self.recording.get(window.begin + 1 + chosen)?;
        let why = format!(
            "{} of {} events after a flush{}",
            chosen + 1,
            window.count(),
            cut_words(kind, &event)
        );
        Ok(fits(kind, &event, &window).then(|| State {
            why,
            ..state(event.seq)
        }))
    }
}

/// A bounded number of events of each class, every one as likely (Vitter, "Random sampling with a reservoir", 1985).
fn sample(
    recording: &Recording,
    windows: &[Window],
    classifier: &mut Classifier,
    random: &mut Random,
) -> io::Result<BTreeMap<Class, Vec<Candidate>>> {
    let mut classes: BTreeMap<Class, (u64, Vec<Candidate>)> = BTreeMap::new();
    let mut window = 0;
    let first = windows.first().map_or(0, |window| window.begin) + 1;
    recording.scan(first, recording.count(), |event| {
        while windows[window].end < event.seq {
            window += 1;
        }
        if !event.what.changes() {
            return;
        }
        let (class, file) = classifier.classify(&event);
        let (count, kept) = classes.entry(class).or_default();
        *count += 1;
        let place = if kept.len() < SAMPLE_MAX {
            kept.len()
        } else {
            random.below(*count) as usize
        };
        if place < SAMPLE_MAX {
            let candidate = Candidate {
                event,
                file: file.map(str::to_owned),
                window,
            };
            match kept.get_mut(place) {
                Some(slot) => *slot = candidate,
                None => kept.push(candidate),
            }
        }
    })?;
    Ok(classes.into_iter().map(|(class, (_, kept))| (class, kept)).collect())
}

fn suited(class: Class) -> &'static [Kind] {
    match class {
        Class::Log => &[
            Kind::Torn512,
            Kind::Flush,
            Kind::Prefix,
            Kind::Reorder,
            Kind::Torn4k,
            Kind::Subset,
        ],
        Class::DataPage => &[
            Kind::Torn4k,
            Kind::Torn512,
            Kind::Subset,
            Kind::Reorder,
            Kind::Prefix,
            Kind::Flush,
        ],
        Class::Doublewrite => &[Kind::Torn4k, Kind::Torn512, Kind::Prefix, Kind::Reorder, Kind::Flush],
        Class::Header => &[Kind::Torn512, Kind::Prefix, Kind::Reorder, Kind::Flush],
        Class::Metadata => &[
            Kind::Prefix,
            Kind::Reorder,
            Kind::Subset,
            Kind::Torn4k,
            Kind::Flush,
            Kind::Torn512,
        ],
        Class::File => &[Kind::Prefix, Kind::Torn4k, Kind::Torn512, Kind::Subset, Kind::Reorder],
        Class::Discard => &[Kind::Prefix, Kind::Reorder, Kind::Subset],
    }
}

/// Whether the kind makes a state of its own of this event.
fn fits(kind: Kind, event: &Event, window: &Window) -> bool {
    match kind.granularity() {
        Some(granularity) => event.what == What::Write && pieces(event, granularity).len() > 1,
        None => match kind {
            Kind::Flush => true,
            Kind::Prefix => event.what.changes(),
            // The missing one must be followed by another.
            Kind::Reorder => event.what.changes() && event.seq + 1 < window.end,
            _ => window.count() > 1,
        },
    }
}

fn cut_words(kind: Kind, event: &Event) -> String {
    match kind.granularity() {
        Some(granularity) => {
            let many = pieces(event, granularity).len();
            format!(", {} bytes in {many} pieces of which some are missing", event.bytes())
        }
        None => String::new(),
    }
}

fn plain(kind: Kind, window: &Window, event: u64, seed: u64, picked_by: &str) -> State {
    State {
        id: String::new(),
        kind,
        flush_seq: window.flush_seq,
        next_flush_seq: window.next,
        seed,
        event,
        rank: 0,
        why: String::new(),
        picked_by: picked_by.to_owned(),
        flush_time_monotonic_s: seconds(window.flush_time_ns),
        time_monotonic_s: seconds(window.end_time_ns),
    }
}

fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}
