//! The disk that forgets: records every write and flush of a disk image, and shows what a power cut could have left.
//!
//! `store` records, `plan` chooses crash states, `state` says what a state holds, `replay` builds it, `images` and
//! `image_fs` serve images as files, `control` answers on a socket; `folder` is
//! the mode without root, which records a folder. See `docs/reference/powerloss.md`.

pub mod arguments;
pub mod asked;
pub mod classify;
pub mod control;
pub mod event;
pub mod fault;
pub mod folder;
pub mod image_fs;
pub mod images;
pub mod map;
pub mod plan;
pub mod random;
pub mod replay;
pub mod session;
pub mod stamp;
pub mod state;
pub mod store;
