//! How a managed process, its supervisor and the embedded node find each other.
//!
//! The supervisor listens on an abstract `SOCK_SEQPACKET` socket with a random name, which programs
//! inherit in `FARSIDE_CONTROL`. A managed process connects, says [`Hello`] and gets a [`Welcome`]
//! with two descriptors: its counters block and a connection to the memory node. The connection to
//! the supervisor then stays open and silent: its hang-up tells of the death of the process.
//!
//! The supervisor hands the other end of each node connection to the node with an [`Attach`]. A
//! `farside top` sends [`Watch`] instead of `Hello` and gets the figures of the run as JSON.

mod client;
mod message;
mod server;
mod socket;

pub use client::{ControlError, Joined, join, watch};
pub use message::{
    Attach, BadMessage, Hello, MAX_FIGURES, MAX_MESSAGE, Message, ProgramName, Refusal, VERSION,
    Watch, Welcome,
};
pub use server::{Arrival, Listener, next_attach, send_attach};
pub use socket::{MAX_DESCRIPTORS, Received, pair, receive, send};
