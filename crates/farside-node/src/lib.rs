//! The memory node server: [embedded] in a run, or at the other end of a [network].

pub mod counters;
pub mod embedded;
mod family;
mod figures;
mod frames;
pub mod metrics;
mod mover;
pub mod network;
mod offload;
mod part_requests;
mod pool;
mod session;
