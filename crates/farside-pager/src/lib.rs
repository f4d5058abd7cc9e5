//! The far region: page table, fault path, reclaim, prefetch execution.
//!
//! [`Pager`] is the state machine. It is written against three seams: the address space
//! ([`farside_os::space::AddressSpace`]), the far store ([`farside_far::FarStore`]), and the policies
//! ([`farside_policy`]); `service` connects it to the kernel's fault messages.

mod advice;
mod array_pages;
mod assign;
pub mod cached;
pub mod counters;
pub mod curve;
mod entry;
mod evictor;
mod fault;
mod fault_log;
mod fetch;
mod flight;
mod foreseen;
mod fork;
mod frames;
mod gate;
pub mod held;
mod hint;
mod inspect;
mod kept;
mod lend;
mod names;
pub mod ordered;
mod pager;
mod part;
mod pin;
mod pointers;
mod purpose;
mod range;
mod reclaim;
mod record;
mod region;
mod replay;
pub mod service;
pub mod settings;
mod spare;
mod start;
pub mod stop;
mod table;
mod tagged;
mod threads;
mod track;
mod transfer;
mod visit;
mod waiting;
mod word;
mod writeback;

pub use assign::AssignError;
pub use entry::Inside;
pub use farside_policy::batches::{BATCH, RECLAIM_BATCH};
pub use fault_log::{FaultLog, LogFaults, LogSurroundings};
pub use flight::Flight;
pub use hint::{Hint, HintWatch};
pub use inspect::{Inspection, Place};
pub use lend::NotLent;
pub use pager::{Outcome, Pager, Parts, Worker};
pub use part::{KeptNames, Part, PartError};
pub use record::{Fault, Recorder, Recording, Surroundings};
pub use replay::Replay;
pub use start::{Hooks, Reader, StartError, start};
pub use table::PageTable;
pub use tagged::TaggedWords;
pub use track::{Track, Tracking, When};
