//! Where in a program an address lies: from instructions of a process to functions and lines, and from stacks to
//! callers, as far as unwinding tables, frame pointers, symbols and debugging information allow.
//!
//! [`Images`] keeps what files a process executes, [`Unwinder`] finds the callers of an instruction, [`Names`] gives
//! places in files their names, [`Origins`] tells how the address came about that an instruction works on.

mod image;
mod images;
mod names;
mod origin;
mod pointers;
mod unwind;

pub use images::{Images, Place};
pub use names::{Frame, Names, demangled};
pub use origin::{Derivation, Holders, Origin, Origins};
pub use unwind::{Callers, Registers, Unwinder};
