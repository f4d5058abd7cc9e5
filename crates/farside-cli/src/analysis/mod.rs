//! What can be learnt from a page trace: `analyze`, `simulate`, `partition` and `path`.

pub mod analyze;
mod as_run;
mod costs;
mod memory;
pub mod names;
pub mod partition;
pub mod path;
pub mod simulate;
pub(crate) mod trace;

pub use memory::MemorySize;
