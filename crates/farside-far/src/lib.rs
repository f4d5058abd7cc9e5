//! The far store: the client side of one or more memory nodes.

mod embedded;
mod link;
mod moving;
mod slots;
mod store;
mod url;

pub use embedded::Embedded;
pub use link::Link;
pub use store::{FarError, FarStore, Moved, Mover, Order, Ticket};
pub use url::{BadUrl, Compression, FarUrl};
