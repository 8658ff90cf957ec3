//! Recording, planning and showing together, against a plain copy of the image and a judge that knows only the rules
//! of a device with a volatile cache: what a completed flush covered is there, what came after may be.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use dyno_powerloss::classify::{Classifier, Hints};
use dyno_powerloss::event::What;
use dyno_powerloss::fault::Fault;
use dyno_powerloss::images::{Images, Presenter};
use dyno_powerloss::plan::Planner;
use dyno_powerloss::replay::Recording;
use dyno_powerloss::state::{Kind, State, pieces};
use dyno_powerloss::store::Store;
use proptest::prelude::*;

const SECTOR: usize = 512;
const SECTORS: usize = 512;
const BYTES: usize = SECTORS * SECTOR;
const IMAGE: u64 = 2;
const LOG_BYTES_MAX: u64 = 1 << 30;

fn clock() -> u64 {
    static NOW: AtomicU64 = AtomicU64::new(1);
    NOW.fetch_add(1_000_000, Ordering::Relaxed)
}

/// A folder that is gone when the test is over.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let number = LAST.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("dyno-powerloss-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[derive(Clone, Debug)]
enum Act {
    Write(usize, usize),
    Zero(usize, usize),
    Flush,
    Base,
    FailingFlush,
}

fn act() -> impl Strategy<Value = Act> {
    let place = (0..SECTORS - 64, 1usize..64);
    prop_oneof![
        8 => place.clone().prop_map(|(sector, many)| Act::Write(sector, many)),
        1 => place.prop_map(|(sector, many)| Act::Zero(sector, many)),
        3 => Just(Act::Flush),
        1 => Just(Act::Base),
        1 => Just(Act::FailingFlush),
    ]
}

/// What the disk should hold, kept plainly; each write fills its sectors with bytes of its own.
struct Model {
    now: Vec<u8>,
    /// Number of the event, and the image with all up to it; the first is the empty disk.
    flushed: Vec<(u64, Vec<u8>)>,
}

fn pattern(number: u64, sector: usize) -> u8 {
    // Never zero, and different in each event and in neighbouring sectors.
    1 + ((number * 31 + sector as u64 * 7) % 255) as u8
}

fn perform(folder: &Path, acts: &[Act]) -> Model {
    let store = Store::create(folder, BYTES as u64, LOG_BYTES_MAX, clock).expect("a store");
    let mut model = Model {
        now: vec![0; BYTES],
        flushed: vec![(0, vec![0; BYTES])],
    };
    for (number, act) in acts.iter().enumerate() {
        let seq = number as u64 + 1;
        match *act {
            Act::Write(sector, many) => {
                let data: Vec<u8> = (sector..sector + many)
                    .flat_map(|at| [pattern(seq, at); SECTOR])
                    .collect();
                store.write(IMAGE, (sector * SECTOR) as u64, &data).expect("room");
                model.now[sector * SECTOR..(sector + many) * SECTOR].copy_from_slice(&data);
            }
            Act::Zero(sector, many) => {
                store
                    .zero(IMAGE, (sector * SECTOR) as u64, (many * SECTOR) as u64)
                    .expect("room");
                model.now[sector * SECTOR..(sector + many) * SECTOR].fill(0);
            }
            Act::Flush => {
                store.flush(IMAGE).expect("a flush");
                model.flushed.push((seq, model.now.clone()));
            }
            Act::Base => {
                assert_eq!(store.base(), Ok(seq));
                model.flushed.push((seq, model.now.clone()));
            }
            Act::FailingFlush => {
                let fault = Fault {
                    eio_on_fsync: Some(1),
                    ..Fault::default()
                };
                assert_eq!(store.set_fault(fault, None), Ok(()));
                assert_eq!(store.flush(IMAGE), Err(libc::EIO));
                model.now.clone_from(&model.flushed.last().expect("the empty disk").1);
            }
        }
        assert_eq!(store.status().events, seq);
    }
    let mut live = vec![1; BYTES];
    store.read(IMAGE, 0, &mut live).expect("a read");
    assert!(live == model.now, "the live image is not what was written");
    model
}

fn plan(folder: &Path, seed: u64, count: usize, kinds: &[Kind]) -> Vec<State> {
    let recording = Recording::open(folder).expect("a recording");
    let mut classifier = Classifier::new(Hints::default());
    Planner::new(&recording, &mut classifier, kinds, seed)
        .and_then(|planner| planner.states(count))
        .expect("a plan")
}

fn show(presenter: &Presenter, state: &State) -> Vec<u8> {
    let file = presenter.present(state).expect("a state");
    let (image, _) = presenter
        .names()
        .into_iter()
        .find(|(_, name)| *name == file)
        .expect("its image");
    let mut bytes = vec![1; BYTES];
    presenter.read(image, 0, &mut bytes).expect("a read");
    presenter.drop_image(&file).expect("dropped");
    bytes
}

fn sector_of(bytes: &[u8], sector: usize) -> &[u8] {
    &bytes[sector * SECTOR..(sector + 1) * SECTOR]
}

/// Whether a device that honours flush may hold these bytes after this flush and before the next: every sector is as
/// the flush left it, or as some event after it did.
fn legal(model: &Model, acts: &[Act], flush_seq: u64, next: Option<u64>, bytes: &[u8]) -> Result<(), String> {
    let (_, base) = model
        .flushed
        .iter()
        .find(|(seq, _)| *seq == flush_seq)
        .ok_or("it names no flush")?;
    let end = next.map_or(acts.len(), |next| next as usize - 1);
    // What came before a failed flush is lost; only what came after the last one may be there.
    let begin = (flush_seq as usize..end)
        .rev()
        .find(|at| matches!(acts[*at], Act::FailingFlush));
    let begin = begin.map_or(flush_seq as usize, |at| at + 1);
    for sector in 0..SECTORS {
        let now = sector_of(bytes, sector);
        let mut allowed = now == sector_of(base, sector);
        for (at, act) in acts.iter().enumerate().take(end).skip(begin) {
            allowed |= match *act {
                Act::Write(first, many) if (first..first + many).contains(&sector) => {
                    now == [pattern(at as u64 + 1, sector); SECTOR]
                }
                Act::Zero(first, many) if (first..first + many).contains(&sector) => now == [0; SECTOR],
                _ => false,
            };
        }
        if !allowed {
            return Err(format!("sector {sector} holds what no legal order of events leaves"));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn every_state_is_legal_and_a_seed_makes_it_again(
        acts in prop::collection::vec(act(), 1..60),
        seed in 0u64..1 << 53,
    ) {
        let folder = Folder::new();
        let model = perform(&folder.0, &acts);
        let states = plan(&folder.0, seed, 40, &Kind::ALL);
        prop_assert_eq!(&states, &plan(&folder.0, seed, 40, &Kind::ALL));
        let base = acts.iter().rposition(|act| matches!(act, Act::Base)).map_or(0, |at| at as u64 + 1);
        let (presenter, other) = (Presenter::open(&folder.0), Presenter::open(&folder.0));
        let (presenter, other) = (presenter.expect("a presenter"), other.expect("a presenter"));
        let mut shown = Vec::new();
        for state in &states {
            prop_assert!(state.flush_seq >= base, "a state lies before the base");
            let bytes = show(&presenter, state);
            legal(&model, &acts, state.flush_seq, state.next_flush_seq, &bytes)
                .map_err(|error| TestCaseError::fail(format!("{error}: {state:?}")))?;
            shown.push(bytes);
        }
        // In another order, by way of JSON.
        for (state, bytes) in states.iter().zip(&shown).rev() {
            let text = serde_json::to_string(state).expect("JSON");
            let read: State = serde_json::from_str(&text).expect("a state");
            prop_assert!(show(&other, &read) == *bytes, "a state is not the same again: {:?}", state);
        }
    }

    #[test]
    fn all_events_replayed_are_the_live_image(acts in prop::collection::vec(act(), 1..60)) {
        let folder = Folder::new();
        let model = perform(&folder.0, &acts);
        let recording = Recording::open(&folder.0).expect("a recording");
        let last = *recording.windows().last().expect("a window");
        let whole = State {
            id: String::new(),
            kind: Kind::Prefix,
            flush_seq: last.flush_seq,
            next_flush_seq: None,
            seed: 0,
            event: recording.count(),
            rank: 0,
            why: String::new(),
            picked_by: String::new(),
            flush_time_monotonic_s: 0.0,
            time_monotonic_s: 0.0,
        };
        let presenter = Presenter::open(&folder.0).expect("a presenter");
        prop_assert!(show(&presenter, &whole) == model.now);
    }
}

/// A long run of writes between flushes, none of which touches what another wrote.
fn steady(flushes: usize, writes: usize) -> Vec<Act> {
    let mut acts = Vec::new();
    for number in 0..flushes * writes {
        acts.push(Act::Write(number * 32 % (SECTORS - 32), 32));
        if number % writes == writes - 1 {
            acts.push(Act::Flush);
        }
    }
    acts
}

#[test]
fn a_planner_that_drops_a_flushed_write_is_caught() {
    let acts = steady(8, 3);
    let folder = Folder::new();
    let model = perform(&folder.0, &acts);
    let presenter = Presenter::open(&folder.0).expect("a presenter");
    let mut caught = 0;
    let states: Vec<_> = plan(&folder.0, 3, 60, &Kind::ALL)
        .into_iter()
        .filter(|state| state.flush_seq > 0)
        .collect();
    assert!(states.len() > 30, "{}", states.len());
    for state in &states {
        // It claims a flush and builds the state on the one before.
        let before = model
            .flushed
            .iter()
            .map(|(seq, _)| *seq)
            .filter(|seq| *seq < state.flush_seq)
            .max();
        let broken = State {
            flush_seq: before.unwrap_or(0),
            kind: Kind::Flush,
            ..state.clone()
        };
        let bytes = show(&presenter, &broken);
        caught += usize::from(legal(&model, &acts, state.flush_seq, state.next_flush_seq, &bytes).is_err());
    }
    assert_eq!(caught, states.len());
}

#[test]
fn a_write_is_torn_at_its_granularity_and_really_torn() {
    let acts = steady(30, 4);
    let folder = Folder::new();
    let model = perform(&folder.0, &acts);
    let recording = Recording::open(&folder.0).expect("a recording");
    let presenter = Presenter::open(&folder.0).expect("a presenter");
    let mut shapes = BTreeSet::new();
    for kind in [Kind::Torn512, Kind::Torn4k] {
        let states = plan(&folder.0, 5, 40, &[kind]);
        assert!(states.len() > 20, "{}", states.len());
        for state in states {
            let event = recording.get(state.event).expect("its event");
            let bytes = show(&presenter, &state);
            let (_, base) = model
                .flushed
                .iter()
                .find(|(seq, _)| *seq == state.flush_seq)
                .expect("its flush");
            let mut at = event.sector as usize;
            let mut kept = Vec::new();
            for length in pieces(&event, kind.granularity().expect("torn")) {
                let new = (at..at + length as usize)
                    .map(|sector| sector_of(&bytes, sector) == [pattern(event.seq, sector); SECTOR])
                    .collect::<BTreeSet<_>>();
                assert_eq!(new.len(), 1, "a piece is cut: {state:?}");
                assert!(at % 8 == 0 || kind == Kind::Torn512);
                let old = (at..at + length as usize).all(|sector| sector_of(&bytes, sector) == sector_of(base, sector));
                // No other event of the window touches it.
                assert_ne!(old, new.contains(&true), "neither old nor new: {state:?}");
                kept.push(new.contains(&true));
                at += length as usize;
            }
            assert!(kept.contains(&true) && kept.contains(&false), "not torn: {state:?}");
            shapes.insert((kept[0], kept[kept.len() - 1]));
        }
    }
    assert!(shapes.len() >= 3, "{shapes:?}");
}

#[test]
fn every_kind_is_planned_and_some_by_rank_and_some_at_random() {
    let acts = steady(60, 6);
    let folder = Folder::new();
    perform(&folder.0, &acts);
    let states = plan(&folder.0, 1, 200, &Kind::ALL);
    assert_eq!(states.len(), 200);
    assert_eq!(
        states.iter().map(|state| state.kind).collect::<BTreeSet<_>>().len(),
        Kind::ALL.len()
    );
    let by_rank = states.iter().filter(|state| state.picked_by == "rank").count();
    assert!((50..=150).contains(&by_rank), "{by_rank}");
    assert_eq!(states.iter().map(|state| &state.id).collect::<BTreeSet<_>>().len(), 200);
    assert_ne!(states, plan(&folder.0, 2, 200, &Kind::ALL));
    assert!(
        states
            .iter()
            .all(|state| state.time_monotonic_s >= state.flush_time_monotonic_s)
    );
}

#[test]
fn an_empty_recording_has_one_state() {
    let folder = Folder::new();
    perform(&folder.0, &[]);
    let states = plan(&folder.0, 1, 10, &Kind::ALL);
    assert_eq!(
        states
            .iter()
            .map(|state| (state.kind, state.flush_seq))
            .collect::<Vec<_>>(),
        [(Kind::Flush, 0)]
    );
}

#[test]
fn a_full_log_refuses_and_keeps_what_it_has() {
    let folder = Folder::new();
    let store = Store::create(&folder.0, BYTES as u64, 16 * 1024, clock).expect("a store");
    store.write(IMAGE, 0, &[7; 8192]).expect("room");
    assert_eq!(store.write(IMAGE, 8192, &[8; 8192]), Err(libc::ENOSPC));
    assert!(
        store.status().error.contains("limit of the log"),
        "{:?}",
        store.status()
    );
    assert_eq!(store.status().events, 1);
    let mut bytes = vec![1; 16384];
    store.read(IMAGE, 0, &mut bytes).expect("a read");
    assert!(bytes[..8192] == [7; 8192] && bytes[8192..] == [0; 8192]);
    store.flush(IMAGE).expect("flushes need no room in the log of data");
}

#[test]
fn a_disk_that_is_full_by_order_says_so() {
    let folder = Folder::new();
    let store = Store::create(&folder.0, BYTES as u64, LOG_BYTES_MAX, clock).expect("a store");
    let fault = Fault {
        full_after_bytes: Some(4096),
        ..Fault::default()
    };
    assert_eq!(store.set_fault(fault, None), Ok(()));
    assert_eq!(store.write(IMAGE, 0, &[7; 4096]), Ok(()));
    assert_eq!(store.write(IMAGE, 4096, &[7; 512]), Err(libc::ENOSPC));
    assert_eq!(store.status().faults, 1);
    assert!(
        store.set_fault(Fault::default(), Some("a file")).is_err(),
        "a disk knows none"
    );
    // Who is not told goes on, and what was written is gone all the same.
    let unheard = Fault {
        eio_on_fsync: Some(1),
        unheard: true,
        ..Fault::default()
    };
    assert_eq!(store.set_fault(unheard, None), Ok(()));
    assert_eq!(store.flush(IMAGE), Ok(()));
    let mut found = [1; 512];
    assert_eq!(store.read(IMAGE, 0, &mut found), Ok(()));
    assert_eq!((found, store.status().flush_seq), ([0; 512], 0));
}

#[test]
fn after_the_cut_nothing_is_recorded() {
    let folder = Folder::new();
    let store = Store::create(&folder.0, BYTES as u64, LOG_BYTES_MAX, clock).expect("a store");
    store.write(IMAGE, 0, &[7; 512]).expect("room");
    store.cut();
    assert_eq!(store.write(IMAGE, 0, &[8; 512]), Err(libc::EIO));
    assert_eq!(store.zero(IMAGE, 0, 512), Err(libc::EIO));
    assert_eq!(store.flush(IMAGE), Err(libc::EIO));
    let recording = Recording::open(&folder.0).expect("a recording");
    assert_eq!(
        (recording.count(), recording.get(1).expect("an event").what),
        (1, What::Write)
    );
}

#[test]
fn the_stamp_tells_flush_and_event() {
    let folder = Folder::new();
    let store = Store::create(&folder.0, BYTES as u64, LOG_BYTES_MAX, clock).expect("a store");
    let stamp = || {
        let page = std::fs::read(folder.0.join("stamp")).expect("a page");
        assert_eq!(page.len(), 4096);
        [0, 8].map(|at| u64::from_le_bytes(page[at..at + 8].try_into().expect("8 bytes")))
    };
    assert_eq!(stamp(), [0, 0]);
    store.write(IMAGE, 0, &[7; 512]).expect("room");
    assert_eq!(stamp(), [0, 1]);
    store.flush(IMAGE).expect("a flush");
    assert_eq!(stamp(), [2, 2]);
}

#[test]
fn what_is_written_to_a_state_stays_there() {
    let folder = Folder::new();
    perform(&folder.0, &steady(2, 2));
    let state = plan(&folder.0, 1, 1, &[Kind::Flush]).remove(0);
    let presenter = Presenter::open(&folder.0).expect("a presenter");
    let before = show(&presenter, &state);
    let file = presenter.present(&state).expect("a state");
    let image = presenter.names()[0].0;
    presenter.write(image, 1024, &[9; 512]).expect("room");
    presenter.zero(image, 2048, 1024).expect("room");
    let mut bytes = vec![1; 4096];
    presenter.read(image, 0, &mut bytes).expect("a read");
    assert!(bytes[1024..1536] == [9; 512] && bytes[2048..3072] == [0; 1024] && bytes[..1024] == before[..1024]);
    presenter.drop_image(&file).expect("dropped");
    assert!(presenter.drop_image(&file).is_err());
    assert!(show(&presenter, &state) == before, "another showing sees it");
}
