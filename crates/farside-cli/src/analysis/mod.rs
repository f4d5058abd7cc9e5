//! What can be learnt from a page trace: `analyze`, `simulate` and `path`.

pub mod analyze;
mod memory;
pub mod path;
pub mod simulate;
mod trace;

pub use memory::MemorySize;
