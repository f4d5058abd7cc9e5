//! The far store: the client side of one or more memory nodes.

mod block_checks;
mod embedded;
pub mod file;
mod keeper;
mod link;
mod moving;
mod offloading;
mod open;
mod parts;
pub mod redis;
pub mod remote;
mod sealing;
mod seals;
mod slots;
mod store;
mod troubles;
mod url;
mod window;

pub use embedded::Embedded;
pub use file::File;
pub use link::Link;
pub use offloading::{Offload, OffloadError, Place, RemoteCall};
pub use open::{BadStore, Opening, open};
pub use remote::Remote;
pub use store::{
    FarError, FarStore, Finished, Health, Moved, Mover, Order, Part, PartStore, Ticket,
};
pub use url::{
    BadUrl, Compression, FarUrl, FileUrl, NodesUrl, PORT, RedisUrl, Unresolved, nanoseconds,
};
