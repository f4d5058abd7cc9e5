//! What a page trace tells: miss-rate curves, what each policy would do, PATH's hardware, and how to
//! share memory.
//!
//! Policies and prefetchers are those of `farside-policy` that the pager runs with.
#![forbid(unsafe_code)]

pub mod belady;
pub mod curve;
pub mod heat;
pub mod knee;
pub mod lru_sizes;
pub mod mapping_names;
pub mod need;
pub mod next_use;
pub mod page_map;
pub mod page_ranks;
pub mod paging;
pub mod partition;
pub mod path;
pub mod phases;
pub mod plan;
pub mod regions;
pub mod replay;
pub mod simulation;
pub mod sweep;
mod times;
pub mod working_set;
