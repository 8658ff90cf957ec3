//! The mode without root: a folder instead of a disk. Every change of a file or a name is recorded, and is volatile
//! until the file or the folder is synced.

pub mod actions;
pub mod op;
pub mod plan;
pub mod rebuild;
pub mod record;
pub mod served;
