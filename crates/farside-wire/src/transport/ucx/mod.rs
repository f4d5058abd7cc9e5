//! UCX: the same messages over shared memory, TCP or RDMA, whichever it finds.
//!
//! The library is looked for when the first connection is made or waited for, and not before: who does not use it does
//! not need it.

mod address;
mod connection;
mod descriptors;
pub mod echo;
mod endpoint;
mod environment;
mod ffi;
mod inbox;
#[cfg(test)]
mod layout;
mod library;
mod listening;
mod space;
mod threads;

pub use connection::Ucx;
pub use listening::UcxListening;

/// Whether UCX can be used here.
///
/// # Errors
/// Why not.
pub fn check() -> std::io::Result<()> {
    library::library().map(drop)
}
