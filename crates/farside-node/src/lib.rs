//! The memory node server.

pub mod embedded;
mod family;
mod mover;
