//! Memory shared out among programs that run side by side (PATH section 4.2).
//!
//! Each program is known by its miss-rate curve and gets a share of its own, which it keeps for the
//! whole run: the trace of one program says nothing of when the others run. Three ways to choose
//! the shares:
//!
//! - [`Sharing::equal`]: the same for each;
//! - [`Sharing::greedy`]: PATH's exchanges, from the equal shares on;
//! - [`optimum()`]: no other shares are better.
//!
//! [`pool`] simulates what systems do otherwise: one memory, and one policy over all programs.

mod grid;
mod optimum;
pub mod pool;
mod program;

pub use farside_sharing::{Goal, Impossible, MOST_PROGRAMS, Sharing, Value};
pub use optimum::{Optimum, optimum};
pub use program::Program;

/// Programs known by their traces, the memory they have together, and what is wanted.
pub type Partitioning = Sharing<Program>;
