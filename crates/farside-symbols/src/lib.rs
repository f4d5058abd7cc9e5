//! Where in a program an address lies: from instructions of a process to functions and lines, and from stacks to
//! callers, as far as unwinding tables, frame pointers, symbols and debugging information allow.
//!
//! [`Images`] keeps what files a process executes, [`Unwinder`] finds the callers of an instruction, [`Names`] gives
//! places in files their names.

mod image;
mod images;
mod names;
mod pointers;
mod unwind;

pub use images::{Images, Place};
pub use names::{Frame, Names};
pub use unwind::{Callers, Registers, Unwinder};
