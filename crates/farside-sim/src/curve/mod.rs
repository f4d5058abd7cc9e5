//! Miss-rate curves: how many misses there would be with each size of memory.

mod groups;
mod histogram;
mod lru;
mod mru;
mod opt;
mod sample;

pub use groups::LruStack;
pub use histogram::{Curve, Distances};
pub use lru::LruDistances;
pub use mru::MruDistances;
pub use opt::OptDistances;
pub use sample::{FixedSizeDistances, SampledCurve, SampledDistances, SampledPoint};
