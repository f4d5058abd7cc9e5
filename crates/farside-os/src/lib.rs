//! The only place that makes system calls: userfaultfd, moves, scans, signals; each with its probe
//! and its fallback.

pub mod probe;
