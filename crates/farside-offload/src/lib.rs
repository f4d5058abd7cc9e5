//! Runs functions of a program where its data is (Mira, sections 5.6 and 6.5).
//!
//! A memory node starts a process that [serves](serve) one program: it [links](Image) the machine code that the compiler
//! made of the program's functions, and runs each call in a process of its own, which sees the program's far memory and
//! nothing else, and can make no system call but to end.

mod functions;
mod image;
mod sandbox;
mod serve;

pub use image::{BadImage, Image};
pub use sandbox::{CallError, run};
pub use serve::serve;
