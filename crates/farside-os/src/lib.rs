//! The only place that makes system calls: userfaultfd, moves, scans, signals; each with its probe
//! and its fallback.
//!
//! Calls go to the kernel directly, never through names of the C library that the preload
//! interposes, and nothing here allocates on the fault path.

pub mod code;
pub mod descriptor;
mod emulated_move;
mod error;
pub mod fault_events;
pub mod huge_file;
pub mod isolation;
pub mod locale;
pub mod memory;
pub mod probe;
pub mod random;
pub mod socket;
pub mod space;
pub mod storage;
pub mod stream;
pub mod thread;
pub mod uring;
pub mod userfault;

pub use error::{OsError, Result, last_errno};
