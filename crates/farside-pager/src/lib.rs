//! The far region: page table, fault path, reclaim, prefetch execution.

pub mod counters;
pub mod settings;
