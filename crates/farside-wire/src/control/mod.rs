//! How a managed process, its supervisor and the embedded node find each other.
//!
//! The supervisor listens on an abstract `SOCK_SEQPACKET` socket with a random name, which programs
//! inherit in `FARSIDE_CONTROL`. A managed process connects, says [`Hello`] and gets a [`Welcome`]
//! with two descriptors: its counters block and a connection to the memory node. The connection to
//! the supervisor then stays open: its hang-up tells of the death of the process. It is silent but
//! for a process that asks what to do with a part of its run ([`BeginPart`]), and gets a [`PartOrder`].
//!
//! The supervisor announces the other end of each node connection to the node, in the messages of
//! [`pool`](crate::pool). A `farside top` sends [`Watch`] instead of `Hello` and gets the figures of
//! the run as JSON; `farside limit` and `farside balance` send an [`OrderLimit`] and get a [`LimitState`]. These may come
//! from the administrator, too; everything else only from the user whose run it is.

mod client;
mod limit;
mod message;
mod part;
mod server;

pub use client::{ControlError, Joined, join, watch, watch_within};
pub use limit::{LimitState, OrderLimit, order_limit};
pub use message::{
    BadMessage, Hello, MAX_FIGURES, MAX_MESSAGE, Message, ProgramName, Refusal, VERSION, Watch,
    Welcome,
};
pub use part::{BeginPart, Begun, PartMode, PartOrder, begin_part, end_part};
pub use server::{Arrival, Listener};
