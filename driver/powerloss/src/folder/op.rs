//! What happens in a folder, and the file of lines that it stands in.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use serde::{Deserialize, Serialize};

/// The number of a file or folder; given once, never again to another.
pub type Node = u64;
/// The folder itself.
pub const ROOT: Node = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NodeKind {
    File,
    Folder,
    Link,
}

/// What a file or folder is besides its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traits {
    pub kind: NodeKind,
    pub mode: u32,
    pub uid: u32,
    pub gid: u32,
    /// Of a symbolic link.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub target: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Change {
    /// It came into being, without a name yet.
    New {
        node: Node,
        traits: Traits,
    },
    /// It got a name.
    Name {
        parent: Node,
        name: String,
        node: Node,
    },
    /// It lost a name.
    Unname {
        parent: Node,
        name: String,
        node: Node,
    },
    Rename {
        parent: Node,
        name: String,
        new_parent: Node,
        new_name: String,
        node: Node,
    },
    /// `data`: the first byte in the log.
    Write {
        node: Node,
        offset: u64,
        bytes: u64,
        data: u64,
    },
    Truncate {
        node: Node,
        bytes: u64,
    },
    Zero {
        node: Node,
        offset: u64,
        bytes: u64,
    },
    /// Owner and permissions; taken as lasting at once.
    Attributes {
        node: Node,
        traits: Traits,
    },
    /// fsync of a file or folder, completed.
    Sync {
        node: Node,
    },
    SyncFailed {
        node: Node,
    },
    /// The start of what is tested, whose tree is in `base.json`.
    Base,
}

impl Change {
    /// Whether a power cut can take it.
    pub fn can_be_lost(&self) -> bool {
        !matches!(
            self,
            Self::New { .. } | Self::Attributes { .. } | Self::Sync { .. } | Self::SyncFailed { .. } | Self::Base
        )
    }

    pub fn is_barrier(&self) -> bool {
        matches!(self, Self::Sync { .. } | Self::Base)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Op {
    pub seq: u64,
    pub time_ns: u64,
    #[serde(flatten)]
    pub change: Change,
}

/// A name in the tree that the recording begins with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaseEntry {
    pub parent: Node,
    pub name: String,
    pub node: Node,
    pub traits: Traits,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaseTree {
    pub seq: u64,
    pub entries: Vec<BaseEntry>,
}

/// More than these are refused, because they are held in memory.
const OPS_MAX: u64 = 20_000_000;

/// The base and the operations after it. A last line that a kill cut is left out.
pub fn read(store: &Path) -> io::Result<(BaseTree, Vec<Op>)> {
    let base: BaseTree = serde_json::from_reader(BufReader::new(File::open(store.join("base.json"))?))?;
    let mut ops = Vec::new();
    for line in BufReader::new(File::open(store.join("ops"))?).lines() {
        let Ok(op) = serde_json::from_str::<Op>(&line?) else {
            break;
        };
        if op.seq > base.seq {
            ops.push(op);
        }
        if ops.len() as u64 > OPS_MAX {
            return Err(io::Error::other(format!(
                "the recording has more than {OPS_MAX} operations"
            )));
        }
    }
    Ok((base, ops))
}
