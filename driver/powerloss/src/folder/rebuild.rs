//! What a power cut could leave of a folder: which operations are durable when, and the tree that is left.
//!
//! The rules, which the common journaling file systems of Linux keep and POSIX does not all promise (Pillai and others,
//! "All File Systems Are Not Created Equal", 2014): fsync of a file makes its data and size durable, its own names, and
//! the names of the folders above it; fsync of a folder makes durable what was named, unnamed and renamed in it, and the
//! names of the folders above. Nothing else is durable. A rename happens whole or not at all.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{FileExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use crate::folder::op::{BaseTree, Change, Node, NodeKind, Op, ROOT, Traits};
use crate::state::{State, pieces_there};

const NEVER: u64 = u64::MAX;

/// When an operation becomes durable, and when it is lost for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fate {
    pub durable_at: u64,
    pub lost_at: u64,
}

impl Fate {
    /// Whether a power cut after the sync `flush_seq` and before the one at `end` could take it or leave it.
    pub fn open(&self, flush_seq: u64, end: u64) -> bool {
        self.durable_at > flush_seq && self.lost_at >= end
    }
}

/// The fate of each operation, in one pass.
pub fn fates(base: &BaseTree, ops: &[Op]) -> Vec<Fate> {
    let mut fates = vec![
        Fate {
            durable_at: NEVER,
            lost_at: NEVER
        };
        ops.len()
    ];
    let mut parents: HashMap<Node, Node> = base.entries.iter().map(|entry| (entry.node, entry.parent)).collect();
    // Operations that wait for a sync: on a file's content, and on names by their node and by their folder.
    let mut content: HashMap<Node, Vec<usize>> = HashMap::new();
    let mut named: HashMap<Node, Vec<usize>> = HashMap::new();
    let mut inside: HashMap<Node, Vec<usize>> = HashMap::new();
    for (number, op) in ops.iter().enumerate() {
        match &op.change {
            Change::Write { node, .. } | Change::Truncate { node, .. } | Change::Zero { node, .. } => {
                content.entry(*node).or_default().push(number);
            }
            Change::Name { parent, node, .. } | Change::Unname { parent, node, .. } => {
                if matches!(op.change, Change::Name { .. }) {
                    parents.insert(*node, *parent);
                }
                named.entry(*node).or_default().push(number);
                inside.entry(*parent).or_default().push(number);
            }
            Change::Rename {
                parent,
                new_parent,
                node,
                ..
            } => {
                parents.insert(*node, *new_parent);
                named.entry(*node).or_default().push(number);
                inside.entry(*parent).or_default().push(number);
                if parent != new_parent {
                    inside.entry(*new_parent).or_default().push(number);
                }
            }
            Change::Sync { node } => {
                let mut reached = content.remove(node).unwrap_or_default();
                reached.extend(inside.remove(node).unwrap_or_default());
                let (mut above, mut steps) = (Some(*node), 0);
                while let Some(one) = above.filter(|_| steps < parents.len() + 2) {
                    reached.extend(named.remove(&one).unwrap_or_default());
                    above = parents.get(&one).copied();
                    steps += 1;
                }
                for done in reached {
                    fates[done].durable_at = fates[done].durable_at.min(op.seq);
                }
            }
            Change::SyncFailed { node } => {
                // As Linux does: the pages count as written from now on, and are not written again.
                for gone in content.remove(node).unwrap_or_default() {
                    fates[gone].lost_at = op.seq;
                }
            }
            Change::New { .. } | Change::Attributes { .. } => fates[number].durable_at = 0,
            Change::Base => {}
        }
    }
    fates
}

/// Bytes between places where a write can be cut.
fn granularity_bytes(state: &State) -> Option<u64> {
    state.kind.granularity().map(|sectors| sectors * 512)
}

/// The pieces of a write, at multiples of the granularity in its file: offset from its start, and length.
pub fn byte_pieces(offset: u64, bytes: u64, granularity: u64) -> Vec<(u64, u64)> {
    let mut found = Vec::new();
    let mut at = offset;
    while at < offset + bytes {
        let next = ((at / granularity + 1) * granularity).min(offset + bytes);
        found.push((at - offset, next - at));
        at = next;
    }
    found
}

/// The tree of a state: names, what they name, and what was done to each file's content.
#[derive(Default)]
pub struct Tree {
    entries: BTreeMap<(Node, String), Node>,
    traits: HashMap<Node, Traits>,
    content: HashMap<Node, Vec<Change>>,
    in_base: HashMap<Node, ()>,
}

impl Tree {
    pub fn of_state(base: &BaseTree, ops: &[Op], fates: &[Fate], state: &State) -> Self {
        let mut tree = Self::default();
        for entry in &base.entries {
            tree.entries.insert((entry.parent, entry.name.clone()), entry.node);
            tree.traits.insert(entry.node, entry.traits.clone());
            tree.in_base.insert(entry.node, ());
        }
        let end = state.next_flush_seq.unwrap_or(NEVER);
        for (op, fate) in ops.iter().zip(fates).take_while(|(op, _)| op.seq < end) {
            if fate.durable_at <= state.flush_seq {
                tree.apply(&op.change);
            } else if fate.open(state.flush_seq, end) {
                match granularity_bytes(state) {
                    Some(granularity) if op.seq == state.event => tree.apply_torn(&op.change, granularity, state.seed),
                    _ if state.keeps_whole(op.seq) => tree.apply(&op.change),
                    _ => {}
                }
            }
        }
        tree
    }

    fn apply(&mut self, change: &Change) {
        match change {
            Change::New { node, traits } | Change::Attributes { node, traits } => {
                self.traits.insert(*node, traits.clone());
            }
            Change::Name { parent, name, node } => {
                self.entries.insert((*parent, name.clone()), *node);
            }
            Change::Unname { parent, name, node } => self.unname(*parent, name, *node),
            Change::Rename {
                parent,
                name,
                new_parent,
                new_name,
                node,
            } => {
                self.unname(*parent, name, *node);
                self.entries.insert((*new_parent, new_name.clone()), *node);
            }
            Change::Write { node, .. } | Change::Truncate { node, .. } | Change::Zero { node, .. } => {
                self.content.entry(*node).or_default().push(change.clone());
            }
            Change::Sync { .. } | Change::SyncFailed { .. } | Change::Base => {}
        }
    }

    /// The name goes only if it still is this one's: another may have it by an operation that was kept.
    fn unname(&mut self, parent: Node, name: &str, node: Node) {
        let key = (parent, name.to_owned());
        if self.entries.get(&key) == Some(&node) {
            self.entries.remove(&key);
        }
    }

    fn apply_torn(&mut self, change: &Change, granularity: u64, seed: u64) {
        let Change::Write {
            node,
            offset,
            bytes,
            data,
        } = *change
        else {
            return;
        };
        let pieces = byte_pieces(offset, bytes, granularity);
        for ((at, bytes), there) in pieces.iter().copied().zip(pieces_there(pieces.len(), seed)) {
            if there {
                self.apply(&Change::Write {
                    node,
                    offset: offset + at,
                    bytes,
                    data: data + at,
                });
            }
        }
    }

    /// Builds the tree in an empty folder. What no name reaches is not there.
    pub fn build(&self, store: &Path, target: &Path) -> io::Result<()> {
        if fs::read_dir(target)?.next().is_some() {
            return Err(io::Error::other(format!("{} is not empty", target.display())));
        }
        let log = File::open(store.join("data"))?;
        let mut made: HashMap<Node, PathBuf> = HashMap::from([(ROOT, target.to_owned())]);
        let mut todo = vec![ROOT];
        while let Some(folder) = todo.pop() {
            let path = made[&folder].clone();
            let below = self.entries.range((folder, String::new())..(folder + 1, String::new()));
            for ((_, name), node) in below {
                let (to, Some(traits)) = (path.join(name), self.traits.get(node)) else {
                    continue;
                };
                match (traits.kind, made.get(node)) {
                    // A folder has one name; a second one can only come from a rename of which a part was lost.
                    (NodeKind::Folder, Some(_)) => continue,
                    (_, Some(first)) => {
                        fs::hard_link(first, &to)?;
                        continue;
                    }
                    (NodeKind::Folder, None) => {
                        fs::create_dir(&to)?;
                        todo.push(*node);
                    }
                    (NodeKind::Link, None) => symlink(&traits.target, &to)?,
                    (NodeKind::File, None) => self.build_file(store, &log, *node, &to)?,
                }
                give(&to, traits)?;
                made.insert(*node, to);
            }
        }
        match self.traits.get(&ROOT) {
            Some(traits) => give(target, traits),
            None => Ok(()),
        }
    }

    fn build_file(&self, store: &Path, log: &File, node: Node, to: &Path) -> io::Result<()> {
        if self.in_base.contains_key(&node) {
            fs::copy(store.join("base").join(node.to_string()), to)?;
        }
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(to)?;
        for change in self.content.get(&node).into_iter().flatten() {
            match *change {
                Change::Write {
                    offset, bytes, data, ..
                } => {
                    let mut buffer = vec![0; bytes as usize];
                    log.read_exact_at(&mut buffer, data)?;
                    file.write_all_at(&buffer, offset)?;
                }
                Change::Truncate { bytes, .. } => file.set_len(bytes)?,
                Change::Zero { offset, bytes, .. } => zero(&file, offset, bytes)?,
                _ => {}
            }
        }
        Ok(())
    }
}

/// Writes zeros within the file's size.
pub fn zero(file: &File, offset: u64, bytes: u64) -> io::Result<()> {
    let end = (offset + bytes).min(file.metadata()?.len());
    let zeros = vec![0; 1 << 16];
    let mut at = offset;
    while at < end {
        let many = (end - at).min(zeros.len() as u64);
        file.write_all_at(&zeros[..many as usize], at)?;
        at += many;
    }
    Ok(())
}

/// Permissions, and the owner where we may give it.
fn give(path: &Path, traits: &Traits) -> io::Result<()> {
    if traits.kind == NodeKind::Link {
        return Ok(());
    }
    // Without root everything belongs to us, and did when it was recorded.
    let _ = chown(path, Some(traits.uid), Some(traits.gid));
    fs::set_permissions(path, Permissions::from_mode(traits.mode & 0o7777))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::Kind;

    fn traits(kind: NodeKind) -> Traits {
        Traits {
            kind,
            mode: 0o600,
            uid: 0,
            gid: 0,
            target: String::new(),
        }
    }

    fn ops(changes: Vec<Change>) -> Vec<Op> {
        let number = |(number, change)| Op {
            seq: number as u64 + 1,
            time_ns: 0,
            change,
        };
        changes.into_iter().enumerate().map(number).collect()
    }

    fn state(kind: Kind, flush_seq: u64, next: Option<u64>, event: u64) -> State {
        State {
            id: String::new(),
            kind,
            flush_seq,
            next_flush_seq: next,
            seed: 1,
            event,
            rank: 0,
            why: String::new(),
            picked_by: String::new(),
            flush_time_monotonic_s: 0.0,
            time_monotonic_s: 0.0,
        }
    }

    fn names(ops: &[Op], state: &State) -> Vec<(String, Node)> {
        let base = BaseTree::default();
        let tree = Tree::of_state(&base, ops, &fates(&base, ops), state);
        tree.entries.into_iter().map(|((_, name), node)| (name, node)).collect()
    }

    fn replace_by_rename(sync_file: bool, sync_folder: bool) -> Vec<Op> {
        let name = |name: &str, node| Change::Name {
            parent: ROOT,
            name: name.to_owned(),
            node,
        };
        let mut changes = vec![
            Change::New {
                node: 2,
                traits: traits(NodeKind::File),
            },
            name("a", 2),
            Change::Sync { node: ROOT },
            Change::New {
                node: 3,
                traits: traits(NodeKind::File),
            },
            name("b", 3),
            Change::Write {
                node: 3,
                offset: 0,
                bytes: 4,
                data: 0,
            },
        ];
        if sync_file {
            changes.push(Change::Sync { node: 3 });
        }
        let rename = (ROOT, "b".to_owned(), "a".to_owned());
        changes.push(Change::Rename {
            parent: rename.0,
            name: rename.1,
            new_parent: ROOT,
            new_name: rename.2,
            node: 3,
        });
        if sync_folder {
            changes.push(Change::Sync { node: ROOT });
        }
        ops(changes)
    }

    #[test]
    fn a_rename_is_volatile_until_its_folder_is_synced() {
        let pair = |name: &str, node| (name.to_owned(), node);
        let synced = replace_by_rename(true, true);
        let last = synced.len() as u64;
        assert_eq!(names(&synced, &state(Kind::Flush, last, None, 0)), [pair("a", 3)]);
        let volatile = replace_by_rename(true, false);
        let last = volatile.len() as u64;
        assert_eq!(
            names(&volatile, &state(Kind::Flush, 7, None, 0)),
            [pair("a", 2), pair("b", 3)]
        );
        assert_eq!(names(&volatile, &state(Kind::Prefix, 7, None, last)), [pair("a", 3)]);
    }

    #[test]
    fn a_name_can_be_durable_and_its_content_not() {
        let ops = replace_by_rename(false, true);
        let base = BaseTree::default();
        let tree = Tree::of_state(
            &base,
            &ops,
            &fates(&base, &ops),
            &state(Kind::Flush, ops.len() as u64, None, 0),
        );
        assert_eq!(tree.entries.get(&(ROOT, "a".to_owned())), Some(&3));
        assert!(
            !tree.content.contains_key(&3),
            "an empty file, as it happens without a sync before the rename"
        );
    }

    #[test]
    fn syncing_a_file_names_the_folders_above_it() {
        let ops = ops(vec![
            Change::New {
                node: 2,
                traits: traits(NodeKind::Folder),
            },
            Change::Name {
                parent: ROOT,
                name: "d".to_owned(),
                node: 2,
            },
            Change::New {
                node: 3,
                traits: traits(NodeKind::File),
            },
            Change::Name {
                parent: 2,
                name: "f".to_owned(),
                node: 3,
            },
            Change::Name {
                parent: 2,
                name: "other".to_owned(),
                node: 4,
            },
            Change::Sync { node: 3 },
        ]);
        let found = names(&ops, &state(Kind::Flush, 6, None, 0));
        assert_eq!(found, [("d".to_owned(), 2), ("f".to_owned(), 3)]);
    }

    #[test]
    fn what_a_failed_sync_lost_never_comes_back() {
        let write = |offset| Change::Write {
            node: 2,
            offset,
            bytes: 4,
            data: 0,
        };
        let ops = ops(vec![
            write(0),
            Change::SyncFailed { node: 2 },
            write(8),
            Change::Sync { node: 2 },
        ]);
        let base = BaseTree::default();
        let fates = fates(&base, &ops);
        let kept = |state: &State| {
            Tree::of_state(&base, &ops, &fates, state)
                .content
                .get(&2)
                .cloned()
                .unwrap_or_default()
        };
        assert_eq!(kept(&state(Kind::Flush, 4, None, 0)), [write(8)]);
        assert_eq!(
            kept(&state(Kind::Prefix, 0, Some(2), 1)),
            [write(0)],
            "before the failure it could be there"
        );
        assert_eq!(kept(&state(Kind::Prefix, 0, Some(4), 3)), [write(8)]);
    }

    #[test]
    fn pieces_lie_at_multiples_in_the_file() {
        assert_eq!(byte_pieces(500, 600, 512), [(0, 12), (12, 512), (524, 76)]);
        assert_eq!(byte_pieces(0, 512, 512), [(0, 512)]);
        assert_eq!(byte_pieces(7, 0, 512), []);
    }
}
