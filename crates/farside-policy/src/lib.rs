//! Replacement policies and prefetchers: pure decision code, without I/O, clock or `unsafe`.
//!
//! The pager and the simulator call the same implementations through the two traits of this crate,
//! so that what is simulated is what runs.
#![forbid(unsafe_code)]

pub mod batches;
pub mod follow;
pub mod forecast;
pub mod prefetch;
pub mod replacement;
